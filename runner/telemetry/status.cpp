// nlohmann/json writes and reads status.json; the file is replaced as a whole.
#include "telemetry/status.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/folder.hpp"

namespace holdfast::telemetry {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchema = 1;
constexpr int kDeepest = 8;                             ///< nesting; ours is 2
constexpr std::size_t kLargest = std::size_t{1} << 20;  ///< bytes; ours has about 1000

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// A number of ours within its type; a float or a larger one is a fault of the file, never cast.
template <class T>
T value_of(const Json& value) {
  if constexpr (std::is_integral_v<T>) {
    const bool in_range = value.is_number_unsigned()
                              ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                              : value.is_number_integer() && value.get<std::int64_t>() >= std::numeric_limits<T>::min();
    if (!in_range) throw Json::type_error::create(302, "not an integer of this size", &value);
  }
  return value.get<T>();
}

template <class T>
void take(const Json& object, const char* key, T& into) {
  if (const auto found = object.find(key); found != object.end() && !found->is_null()) into = value_of<T>(*found);
}
template <class T>
void take(const Json& object, const char* key, std::optional<T>& into) {
  if (const auto found = object.find(key); found != object.end() && !found->is_null()) into = value_of<T>(*found);
}

/// Counts brackets outside strings before anything is built from the text.
bool is_flat(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '{' || text[i] == '[') && ++depth > kDeepest)
      return false;
    else if (!quoted && (text[i] == '}' || text[i] == ']'))
      --depth;
  }
  return true;
}

Status from_json(const Json& object) {
  Status at;
  take(object, "run", at.run);
  take(object, "generation", at.generation);
  take(object, "state", at.state);
  take(object, "update", at.update);
  take(object, "total_updates", at.total_updates);
  take(object, "updates_per_epoch", at.updates_per_epoch);
  take(object, "epoch", at.epoch);
  take(object, "samples_seen", at.samples_seen);
  take(object, "attempt", at.attempt);
  take(object, "pid", at.pid);
  take(object, "exit_code", at.exit_code);
  take(object, "cause", at.cause);
  take(object, "loss", at.loss);
  take(object, "updates_per_second", at.updates_per_second);
  take(object, "skipped_windows", at.skipped_windows);
  take(object, "skipped_samples", at.skipped_samples);
  take(object, "best_update", at.best_update);
  take(object, "best_metric", at.best_metric);
  take(object, "metrics_url", at.metrics_url);
  take(object, "started_at", at.started_at);
  take(object, "attempt_at", at.attempt_at);
  take(object, "updated_at", at.updated_at);
  take(object, "ended_at", at.ended_at);
  if (const auto scores = object.find("scores"); scores != object.end() && scores->is_object())
    for (const auto& [name, value] : scores->items())
      if (value.is_number()) at.scores.emplace_back(name, value.get<double>());
  return at;
}

/// A new file renamed over the old one: a reader, and a killed writer, see one of the two.
bool replace(const std::string& path, const std::string& fresh, const std::string& text) {
  base::File file = base::open_regular(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.fd() < 0 && unlink(fresh.c_str()) == 0)  // something else had our temporary name
    file = base::open_regular(fresh, O_WRONLY | O_CREAT | O_EXCL);
  if (file.fd() < 0) return false;
  if (write(file.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return std::rename(fresh.c_str(), path.c_str()) == 0;
  (void)unlink(fresh.c_str());
  return false;
}

/// For a full disk: one write over bytes that are there already, filled up with new lines, needs no room.
bool overwrite(const std::string& path, std::string text) {
  const base::File file = base::open_regular(path, O_WRONLY);
  struct stat info {};
  if (file.fd() < 0 || fstat(file.fd(), &info) != 0) return false;
  if (const auto size = static_cast<std::size_t>(info.st_size); size > text.size()) text.resize(size, '\n');
  return pwrite(file.fd(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string to_json(const Status& at) {
  Json scores = Json::object();
  for (const auto& [name, value] : at.scores) scores[name] = value;
  const Json object = {{"schema", kSchema},
                       {"run", at.run},
                       {"generation", at.generation},
                       {"state", at.state},
                       {"update", at.update},
                       {"total_updates", at.total_updates},
                       {"updates_per_epoch", at.updates_per_epoch},
                       {"epoch", at.epoch},
                       {"samples_seen", at.samples_seen},
                       {"attempt", at.attempt},
                       {"pid", at.pid},
                       {"exit_code", maybe(at.exit_code)},
                       {"cause", text_or_null(at.cause)},
                       {"loss", maybe(at.loss)},
                       {"updates_per_second", maybe(at.updates_per_second)},
                       {"skipped_windows", at.skipped_windows},
                       {"skipped_samples", at.skipped_samples},
                       {"scores", scores},
                       {"best_update", at.best_update},
                       {"best_metric", maybe(at.best_metric)},
                       {"metrics_url", text_or_null(at.metrics_url)},
                       {"started_at", text_or_null(at.started_at)},
                       {"attempt_at", text_or_null(at.attempt_at)},
                       {"updated_at", text_or_null(at.updated_at)},
                       {"ended_at", text_or_null(at.ended_at)}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Status> parse_status(std::string_view text) {
  if (text.size() > kLargest || !is_flat(text)) return std::nullopt;
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.value("schema", Json(0)) != kSchema) return std::nullopt;
  try {
    return from_json(object);
  } catch (const Json::exception&) {  // a field of another type: not a status of ours
    return std::nullopt;
  }
}

std::optional<Status> read_status(const std::string& generation_folder) {
  const base::File file = base::open_regular(generation_folder + "/status.json", O_RDONLY);
  struct stat info {};
  if (file.fd() < 0 || fstat(file.fd(), &info) != 0) return std::nullopt;
  if (info.st_size > static_cast<off_t>(kLargest)) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t size = read(file.fd(), text.data(), text.size());
  if (size != info.st_size) return std::nullopt;
  return parse_status(text);
}

bool write_status(const std::string& generation_folder, const Status& status) noexcept {
  try {
    // Renamed without fsync: a killed process leaves the old or the new file, and a flush of the disk every second
    // would slow the training loop. After a power cut the checkpoints tell the truth, not this file.
    const std::string path = generation_folder + "/status.json", fresh = generation_folder + "/.status.json.new";
    const std::string text = to_json(status);
    return replace(path, fresh, text) || overwrite(path, text);
  } catch (const std::exception&) {  // out of memory for the text: the caller counts it as not written
    return false;
  }
}

}  // namespace holdfast::telemetry
