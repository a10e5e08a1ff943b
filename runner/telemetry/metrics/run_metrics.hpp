// The figures of one run as Prometheus metrics: handles looked up once, a few atomic additions a window. Torch-free;
// knows neither who serves the text nor where it is written. Owner of prometheus-cpp, which no header shows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "holdfast/component.hpp"
#include "holdfast/hook.hpp"
#include "telemetry/outcomes.hpp"
#include "telemetry/stage_times.hpp"

namespace holdfast::telemetry {

/// Bytes of one memory domain; `budget` 0: none.
struct DomainReading {
  std::int64_t allocated = 0, reserved = 0, peak = 0, budget = 0;
};

/// Bytes. A figure that cannot be told is absent, and its series with it.
struct MemoryReading {
  std::optional<std::int64_t> resident, peak_resident;  ///< of the process
  std::optional<std::int64_t> filesystem_free;          ///< where checkpoints go
  std::optional<DomainReading> device, host;
};

struct RunMetricsSettings {
  std::string run;                                  ///< label `run` of every series; any bytes
  std::function<MemoryReading()> memory = {};       ///< read for each exposition, on that thread; may be empty
  std::function<void(std::string_view)> warn = {};  ///< any thread; may be empty
  const base::Clock* clock = nullptr;               ///< null: the machine's
  Duration expected_interval{};                     ///< between two starts of the run; zero: not told
  /// Messages so far by level (debug, info, warning, error), asked as `memory`; may be empty.
  std::function<std::array<std::int64_t, 4>()> log_messages = {};
};

/// What an exposition holds: everything, or what a batch job leaves behind (holdfast_run_... and holdfast_build_info).
enum class Extent { kAll, kOutcome };

struct RunIdentity {
  std::string run_id;      ///< the generation's name
  std::string device;      ///< "cpu"
  std::string strategies;  ///< names joined by commas
  std::string version, libtorch;
  int attempt = 1;
};

struct StartPosition {
  std::int64_t update = 0, epoch = 0, samples_seen = 0, target_updates = 0;
};

/// A series bound of plugins' gauges: further names are dropped, and told once.
inline constexpr int kMostComponentSeries = 100;

/// text() and the components' gauges: any thread. All else: the training thread. Never throws but for want of memory.
/// window() waits for no other thread but while the figures of one histogram are copied; calls that begin a new series
/// may wait while those of the registry are (some 100 us), never while a text is written or sent.
class RunMetrics {
 public:
  explicit RunMetrics(RunMetricsSettings settings);
  ~RunMetrics();
  RunMetrics(const RunMetrics&) = delete;
  RunMetrics& operator=(const RunMetrics&) = delete;

  void identify(const RunIdentity& identity);
  /// What the run home remembers of earlier attempts: each cause with its count. Once.
  void remember(const std::map<std::string, std::int64_t>& failures,
                const std::map<std::string, std::int64_t>& restarts);
  /// Before the end: what earlier attempts came to. ended() adds this one.
  void recall(const Outcomes& outcomes);
  void started(const StartPosition& at);
  /// `dropped`: why it was not applied, one of the catalogue's reasons. Under a microsecond.
  void window(const WindowReport& report, std::int64_t samples_seen, std::string_view dropped, const StageTimes& times);
  /// Bytes that sampled micro-batches of the window needed.
  void micro_batch_memory(std::int64_t allocated, std::int64_t peak, std::int64_t reserved);
  void evaluating();
  void evaluated(const EvalReport& report);
  void saving();
  void saved(std::int64_t bytes);
  void save_failed(ExitCode code);
  /// After saving(): training goes on while the rest is done on another thread. Also where it waited for that thread.
  void snapshot_taken();
  void saved_behind(std::int64_t bytes, Duration took);
  void failed_behind(ExitCode code);
  void save_missed();
  /// A checkpoint was found, verified and loaded.
  void loaded(Duration took);
  void out_of_memory(const OomReport& report);
  void plan_changed(std::string_view field);
  void sample_skipped();
  /// `samples_seen`: what the run went back to.
  void rolled_back(const RollbackReport& report, std::int64_t samples_seen);
  /// `source`: file, command, url; anything else counts as other.
  void preempted(std::string_view source);
  void stopping();
  /// The last word; later calls do nothing.
  void ended(ExitCode code);

  /// Gauges of one component, exported as holdfast_component_value. Lives as long as this object. Any bytes are taken
  /// as names: they are made valid UTF-8 and cut at 200 bytes.
  Metrics& component(const std::string& table);

  /// Any thread: metrics were given to a sink of the catalogue, or not.
  void delivered(std::string_view sink, bool well);

  /// The exposition, text format 0.0.4.
  [[nodiscard]] std::string text(Extent extent = Extent::kAll);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::telemetry
