// Where the metrics of a run go: metrics.prom in its folder always; the endpoint, a file for node_exporter and a
// Pushgateway where the recipe asks for them.
// Nothing here can slow or end training.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/listen_address.hpp"
#include "base/log.hpp"
#include "holdfast/options.hpp"
#include "telemetry/metrics/endpoint.hpp"
#include "telemetry/metrics/push.hpp"
#include "telemetry/metrics/pusher.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace holdfast::telemetry {

struct ExporterSettings {
  std::string folder;                         ///< metrics.prom is written here; the generation, absolute
  std::optional<base::ListenAddress> listen;  ///< none: no endpoint
  std::string textfile;                       ///< absolute; written as often as metrics.prom; empty: none
  std::optional<PushSettings> push;           ///< none: no gateway
  Duration every = std::chrono::seconds(10);  ///< between two writings of metrics.prom
  base::RunLog* log = nullptr;                ///< required, outlives this object
};

/// Files are written at once, then every so often on a thread of their own, and a last time by finish(); the outcome is
/// pushed at the beginning and by finish(), on another thread. A file that cannot be written, an address that cannot be
/// had and a gateway that does not take it are told once, and counted.
class Exporter {
 public:
  /// `metrics` outlives this object.
  Exporter(RunMetrics& metrics, ExporterSettings settings);
  /// Ends the endpoint and the thread; writes nothing.
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// After RunMetrics::ended: the last exposition, in place when this returns; waits for a gateway as long as
  /// PushSettings say, twice at most. The endpoint goes on serving.
  void finish();
  /// Of the endpoint, empty without one.
  [[nodiscard]] std::string url() const { return endpoint_ ? endpoint_->url() : std::string(); }

 private:
  void listen();
  void write_now_and_then();
  void write();
  void write_file(const char* sink, const std::string& path, const std::string& text);
  void tell(const char* sink, const std::string& why);
  void start_pushing();
  void end_thread();

  RunMetrics& metrics_;
  ExporterSettings settings_;
  std::unique_ptr<Endpoint> endpoint_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::mutex telling_;
  std::set<std::string> told_;  ///< sinks whose failure was told
  std::thread writer_;
  std::unique_ptr<Pusher> pusher_;
};

}  // namespace holdfast::telemetry
