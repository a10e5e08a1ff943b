// nlohmann/json writes and reads status.json; the file is replaced as a whole.
#include "telemetry/status.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace holdfast::telemetry {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchema = 1;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
void take(const Json& object, const char* key, T& into) {
  if (const auto found = object.find(key); found != object.end() && !found->is_null()) into = found->get<T>();
}
template <class T>
void take(const Json& object, const char* key, std::optional<T>& into) {
  if (const auto found = object.find(key); found != object.end() && !found->is_null()) into = found->get<T>();
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
  take(object, "started_at", at.started_at);
  take(object, "attempt_at", at.attempt_at);
  take(object, "updated_at", at.updated_at);
  take(object, "ended_at", at.ended_at);
  if (const auto scores = object.find("scores"); scores != object.end() && scores->is_object())
    for (const auto& [name, value] : scores->items())
      if (value.is_number()) at.scores.emplace_back(name, value.get<double>());
  return at;
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
                       {"started_at", text_or_null(at.started_at)},
                       {"attempt_at", text_or_null(at.attempt_at)},
                       {"updated_at", text_or_null(at.updated_at)},
                       {"ended_at", text_or_null(at.ended_at)}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Status> parse_status(std::string_view text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.value("schema", Json(0)) != kSchema) return std::nullopt;
  try {
    return from_json(object);
  } catch (const Json::exception&) {  // a field of another type: not a status of ours
    return std::nullopt;
  }
}

std::optional<Status> read_status(const std::string& generation_folder) {
  std::ifstream file(generation_folder + "/status.json", std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_status(text);
}

bool write_status(const std::string& generation_folder, const Status& status) noexcept {
  try {
    // Renamed without fsync: a killed process leaves the old or the new file, and a flush of the disk every second
    // would slow the training loop. After a power cut the checkpoints tell the truth, not this file.
    const std::string path = generation_folder + "/status.json", fresh = generation_folder + "/.status.json.new";
    const std::string text = to_json(status);
    const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) return false;
    const bool whole = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool closed = close(file) == 0;
    return whole && closed && std::rename(fresh.c_str(), path.c_str()) == 0;
  } catch (const std::exception&) {  // out of memory for the text: the caller counts it as not written
    return false;
  }
}

}  // namespace holdfast::telemetry
