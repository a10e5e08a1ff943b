// The file is made by a thread of its own: it syncs, and a full or slow disk must not be felt by the loop.
#include "telemetry/metrics/exporter.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/signal.hpp"

namespace holdfast::telemetry {
namespace {

constexpr Duration kSecondWriting = std::chrono::seconds(1);

}  // namespace

Exporter::Exporter(RunMetrics& metrics, ExporterSettings settings) : metrics_(metrics), settings_(std::move(settings)) {
  if (settings_.listen) listen();
  if (settings_.push) start_pushing();
  const base::SignalsBlocked quiet;
  try {
    writer_ = std::thread([this] { write_now_and_then(); });
  } catch (const std::system_error& failure) {
    settings_.log->warn(std::string("metrics.prom is written at the end only: no thread can be made: ") +
                        failure.what());
  }
}

Exporter::~Exporter() {
  endpoint_.reset();
  pusher_.reset();
  end_thread();
}

void Exporter::listen() {
  const base::ListenAddress& wanted = *settings_.listen;
  std::string problem;
  endpoint_ = Endpoint::open(wanted, [this] { return metrics_.text(); }, problem);
  if (!endpoint_)
    return settings_.log->warn("metrics: cannot listen on " + wanted.text() + ": " + problem +
                               "; training goes on without the endpoint, metrics.prom is written as ever");
  if (!wanted.is_loopback())
    settings_.log->warn("metrics: whoever reaches " + endpoint_->address().text() +
                        " can read them, without a password; with 127.0.0.1 only this machine could");
  settings_.log->info("metrics at " + endpoint_->url());
}

void Exporter::write_now_and_then() {
  // The second time soon, so that the file of a run that is killed early tells that it ran.
  Duration wait = std::min<Duration>(settings_.every, kSecondWriting);
  std::unique_lock lock(mutex_);
  for (int writings = 1; !ending_; ++writings) {
    lock.unlock();
    write();
    // Not the first time: the run is pending then, and the gateway would say so until the end.
    if (pusher_ && writings == 2) pusher_->offer(metrics_.text(Extent::kOutcome));
    lock.lock();
    wake_.wait_for(lock, std::exchange(wait, settings_.every), [this] { return ending_; });
  }
}

void Exporter::write() {
  const std::string text = metrics_.text();
  write_file("file", settings_.folder + "/metrics.prom", text);
  if (!settings_.textfile.empty()) write_file("textfile", settings_.textfile, text);
}

void Exporter::write_file(const char* sink, const std::string& path, const std::string& text) {
  try {
    base::write_file_atomic(path, text);
    metrics_.delivered(sink, true);
  } catch (const Error& failure) {
    tell(sink, failure.where() + ": " + failure.message());
  } catch (const std::exception& failure) {
    tell(sink, failure.what());
  }
}

void Exporter::tell(const char* sink, const std::string& why) {
  metrics_.delivered(sink, false);
  const std::lock_guard lock(telling_);
  if (!told_.insert(sink).second) return;
  const std::string what = sink == std::string_view("file") ? "metrics.prom cannot be written"
                           : sink == std::string_view("textfile")
                               ? "the file of metrics.textfile cannot be written"
                               : "metrics cannot be pushed to " + settings_.push->url;
  settings_.log->warn(what + ", training goes on: " + why);
}

void Exporter::start_pushing() {
  pusher_ = std::make_unique<Pusher>([this](const std::string& text) { return push(*settings_.push, text); },
                                     [this](const std::string& problem) {
                                       if (problem.empty())
                                         metrics_.delivered("push", true);
                                       else
                                         tell("push", problem);
                                     });
}

void Exporter::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (writer_.joinable()) writer_.join();
}

void Exporter::finish() {
  end_thread();
  if (pusher_) pusher_->offer(metrics_.text(Extent::kOutcome));
  write();
  if (pusher_) pusher_->finish();
}

}  // namespace holdfast::telemetry
