// status.json is read by telemetry, homes and checkpoints by checkpoint; supervise judges.
#include "app/front/aftermath.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/folder.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/store.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr const char* kFailuresFile = "/failures.json";

/// Whether somebody holds the lock; takes and leaves it at once where nobody does.
bool is_locked(const std::string& home) {
  const base::File lock = base::open_regular(home + "/lock", O_RDONLY);
  if (lock.fd() < 0) return false;
  if (::flock(lock.fd(), LOCK_SH | LOCK_NB) == 0) return ::flock(lock.fd(), LOCK_UN), false;
  return errno == EWOULDBLOCK;
}

std::int64_t newest_update(const std::string& generation) {
  try {
    const std::string path = checkpoint::Store(generation, {}).newest_path();
    const std::string name = fs::path(path).filename().string();
    return name.starts_with("update-") ? std::atoll(name.c_str() + 7) : -1;
  } catch (const Error&) {  // a folder that cannot be read holds no checkpoint that anybody could go on from
    return -1;
  }
}

std::map<std::string, std::int64_t> counts_of(const Json& object, const char* key) {
  std::map<std::string, std::int64_t> counts;
  if (const auto found = object.find(key); found != object.end() && found->is_object())
    for (const auto& [cause, count] : found->items())
      if (count.is_number_integer() && count >= 0) counts[cause] = count.get<std::int64_t>();
  return counts;
}

void write_failures(const std::string& home, const Failures& at) {
  const Json object = {{"schema", 1}, {"failures", at.failures}, {"restarts", at.restarts}};
  base::write_file_atomic(home + kFailuresFile, object.dump(2) + "\n");
}

bool is_failure(const supervise::Verdict& verdict) {
  using supervise::Cause;
  for (const auto cause : {Cause::kNone, Cause::kStopped, Cause::kLocked, Cause::kUsage})
    if (verdict.cause == cause && verdict.exit_code != static_cast<int>(ExitCode::kStoppedWithoutSave)) return false;
  return true;
}

}  // namespace

supervise::Trace trace_of(const std::string& path) {
  supervise::Trace trace;
  const auto generation = checkpoint::RunHome::look(path);
  if (generation.path.empty()) return trace;
  trace.generation = generation.path;
  trace.locked = is_locked(fs::path(generation.path).parent_path().string());
  trace.checkpoint = newest_update(generation.path);
  if (const auto status = telemetry::read_status(generation.path)) {
    trace.state = status->state;
    trace.exit_code = status->exit_code;
    trace.cause = status->cause;
    trace.pid = status->pid;
    trace.update = status->update;
    trace.attempt = status->attempt;
    trace.attempt_at = status->attempt_at;
    trace.updated_at = status->updated_at;
    trace.ended_at = status->ended_at;
  }
  return trace;
}

supervise::Verdict verdict_on(const supervise::System& system, const supervise::Trace& trace) {
  if (!trace.locked && !trace.generation.empty() && trace.state != "finished")
    if (auto kept = supervise::kept_verdict(trace.generation, trace.pid)) return *std::move(kept);
  return supervise::judge(supervise::collect(system, trace));
}

void settle(const supervise::System& system, const supervise::Trace& trace) noexcept {
  try {
    if (trace.generation.empty() || supervise::kept_verdict(trace.generation, trace.pid)) return;
    settle(supervise::judge(supervise::collect(system, trace)));
  } catch (const std::exception&) {  // the post-mortem of the last attempt must not cost the next one
  }
}

void settle(const supervise::Verdict& verdict) noexcept {
  try {
    if (!is_failure(verdict) || !supervise::keep_verdict(verdict)) return;
    const std::string home = fs::path(verdict.generation).parent_path().string();
    Failures at = read_failures(home);
    ++at.failures[std::string(supervise::cause_row(verdict.cause).name)];
    write_failures(home, at);
  } catch (const std::exception&) {  // as above
  }
}

Failures read_failures(const std::string& home) {
  Failures at;
  try {
    const Json object = Json::parse(base::read_file(home + kFailuresFile, 1 << 16), nullptr, false);
    if (!object.is_object()) return at;
    at.failures = counts_of(object, "failures");
    at.restarts = counts_of(object, "restarts");
  } catch (const std::exception&) {  // absent or damaged: nothing is known
  }
  return at;
}

void count_restart(const std::string& home, std::string_view cause) noexcept {
  try {
    Failures at = read_failures(home);
    ++at.restarts[std::string(cause)];
    write_failures(home, at);
  } catch (const std::exception&) {  // a count, no more
  }
}

}  // namespace holdfast::app
