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
  while (!ending_) {
    lock.unlock();
    write();
    lock.lock();
    wake_.wait_for(lock, std::exchange(wait, settings_.every), [this] { return ending_; });
  }
}

void Exporter::write() {
  try {
    base::write_file_atomic(settings_.folder + "/metrics.prom", metrics_.text());
  } catch (const Error& failure) {
    tell(failure.where() + ": " + failure.message());
  } catch (const std::exception& failure) {
    tell(failure.what());
  }
}

void Exporter::tell(const std::string& why) {
  if (!told_) settings_.log->warn("metrics.prom cannot be written, training goes on: " + why);
  told_ = true;
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
  write();
}

}  // namespace holdfast::telemetry
