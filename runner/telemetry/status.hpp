// status.json: where a run stands, for people, scripts and `holdfast status`. Torch-free.
// Fields (all always present; unknown ones are null): schema, run, generation, state, update, total_updates,
// updates_per_epoch, epoch, samples_seen, attempt, pid, exit_code, cause, loss, updates_per_second, skipped_windows,
// skipped_samples, scores, best_update, best_metric, metrics_url, started_at, attempt_at, updated_at, ended_at
// (RFC 3339, UTC).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::telemetry {

/// running: a process works on it (or died without a word: its pid is gone). finished: target reached.
/// stopped: ended after saving, run again to go on. failed: see exit_code and cause. abandoned: `--new` left it behind.
struct Status {
  std::string run, generation;
  std::string state = "running";
  std::int64_t update = 0, total_updates = 0, updates_per_epoch = 0, epoch = 0, samples_seen = 0;
  int attempt = 1;
  std::int64_t pid = 0;
  std::optional<int> exit_code;
  std::string cause;
  std::optional<double> loss, updates_per_second, best_metric;
  std::int64_t best_update = 0, skipped_windows = 0, skipped_samples = 0;
  std::vector<std::pair<std::string, double>> scores;  ///< of the last evaluation
  std::string metrics_url;                             ///< of the endpoint while the run is up; empty: none
  std::string started_at, attempt_at, updated_at, ended_at;
};

/// One JSON object with a final newline. Non-finite numbers become null.
std::string to_json(const Status&);
/// Empty when `text` is no status of a schema this version reads.
std::optional<Status> parse_status(std::string_view text);
/// Reads <generation>/status.json; empty when absent, unreadable, a link or no regular file, or larger than 1 MiB.
std::optional<Status> read_status(const std::string& generation_folder);

/// Replaces <generation>/status.json atomically, or where there is no room for a second file writes over it, so that
/// the end of a run on a full disk is told. False when that failed too: it must not end training.
bool write_status(const std::string& generation_folder, const Status&) noexcept;

}  // namespace holdfast::telemetry
