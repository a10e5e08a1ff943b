// outcomes.json: schema, open (the generation that an attempt works on; null between attempts), attempts, last_success.
// Replaced as a whole.
#include "telemetry/outcomes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/folder.hpp"
#include "telemetry/status.hpp"

namespace holdfast::telemetry {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kName = "outcomes.json";
constexpr std::size_t kLargest = std::size_t{64} << 10;
constexpr std::int64_t kMostAttempts = 1'000'000'000;  ///< a count beyond is no count of ours

struct Known {
  Outcomes outcomes;
  std::string open;
};

void take(const Json& object, const char* key, std::map<std::string, std::int64_t, std::less<>>& into) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items())
    if (value.is_number_integer() && value >= 0 && value <= kMostAttempts && into.size() < 100)
      into[name] = value.get<std::int64_t>();
}

std::string text_of(const std::string& home) {
  const base::File file = base::open_regular(home + "/" + kName, O_RDONLY);
  struct stat info {};
  if (file.fd() < 0 || fstat(file.fd(), &info) != 0 || info.st_size > static_cast<off_t>(kLargest)) return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  return read(file.fd(), text.data(), text.size()) == info.st_size ? text : std::string();
}

Known read_known(const std::string& home) {
  Known known;
  const Json object = Json::parse(text_of(home), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return known;
  take(object, "attempts", known.outcomes.attempts);
  const auto success = object.find("last_success"), open = object.find("open");
  if (success != object.end() && success->is_number_unsigned() && *success <= std::int64_t{1} << 40)
    known.outcomes.last_success = success->get<std::int64_t>();
  if (open != object.end() && open->is_string()) known.open = open->get<std::string>();
  return known;
}

void write(const std::string& home, const Outcomes& outcomes, const std::string& open) {
  const Json object = {{"schema", 1},
                       {"open", open.empty() ? Json(nullptr) : Json(open)},
                       {"attempts", outcomes.attempts},
                       {"last_success", outcomes.last_success}};
  base::write_file_atomic(home + "/" + kName, object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool is_bare(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

/// Of an attempt that did not come to its end: a crash leaves its exit code in the status, SIGKILL does not.
void count_left_open(const std::string& home, const std::string& open, Outcomes& outcomes) {
  const auto status = is_bare(open) ? read_status(home + "/" + open) : std::nullopt;
  if (status && status->state != "running" && status->exit_code)
    outcomes.count(static_cast<ExitCode>(*status->exit_code), outcomes.last_success);
  else
    outcomes.count_interrupted();
}

}  // namespace

void Outcomes::count(ExitCode code, std::int64_t now) {
  if (code == ExitCode::kOk) {
    last_success = now;
    ++attempts["succeeded"];
  } else if (code == ExitCode::kStoppedAfterSave) {
    ++attempts["preempted"];
  } else {
    ++attempts["failed"];
  }
}

void Outcomes::count_interrupted() { ++attempts["interrupted"]; }

Outcomes begin_attempt(const std::string& home, const std::string& generation) noexcept {
  Known known;
  try {
    known = read_known(home);
    if (!known.open.empty()) count_left_open(home, known.open, known.outcomes);
    write(home, known.outcomes, generation);
  } catch (const std::exception&) {  // counts are no reason to keep a run from beginning
  }
  return known.outcomes;
}

Outcomes end_attempt(const std::string& home, Outcomes outcomes, ExitCode code, std::int64_t now) noexcept {
  try {
    outcomes.count(code, now);
    write(home, outcomes, "");
  } catch (const std::exception&) {  // a full disk: the next attempt finds this one open and asks its status
  }
  return outcomes;
}

}  // namespace holdfast::telemetry
