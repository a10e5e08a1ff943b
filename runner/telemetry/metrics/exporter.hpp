// Where the metrics of a run go: metrics.prom in its folder always, and the endpoint where the recipe asks for one.
// Nothing here can slow or end training.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/listen_address.hpp"
#include "base/log.hpp"
#include "holdfast/options.hpp"
#include "telemetry/metrics/endpoint.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace holdfast::telemetry {

struct ExporterSettings {
  std::string folder;                         ///< metrics.prom is written here; the generation, absolute
  std::optional<base::ListenAddress> listen;  ///< none: no endpoint
  Duration every = std::chrono::seconds(10);  ///< between two writings of metrics.prom
  base::RunLog* log = nullptr;                ///< required, outlives this object
};

/// metrics.prom is written at once, then every so often on a thread of its own, and a last time by finish(). A file
/// that cannot be written and an address that cannot be had are told once.
class Exporter {
 public:
  /// `metrics` outlives this object.
  Exporter(RunMetrics& metrics, ExporterSettings settings);
  /// Ends the endpoint and the thread; writes nothing.
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// After RunMetrics::ended: the last exposition, in place when this returns. The endpoint goes on serving.
  void finish();
  /// Of the endpoint, empty without one.
  [[nodiscard]] std::string url() const { return endpoint_ ? endpoint_->url() : std::string(); }

 private:
  void listen();
  void write_now_and_then();
  void write();
  void tell(const std::string& why);
  void end_thread();

  RunMetrics& metrics_;
  ExporterSettings settings_;
  std::unique_ptr<Endpoint> endpoint_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  bool told_ = false;  ///< of the thread that writes, and of finish() after it
  std::thread writer_;
};

}  // namespace holdfast::telemetry
