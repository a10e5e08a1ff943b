// What stops a run from outside, as the engine's stop flag: a signal, or time that is up.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "app/worker/service.hpp"
#include "base/clock.hpp"
#include "base/signal.hpp"
#include "engine/trainer.hpp"
#include "holdfast/options.hpp"

namespace holdfast::app {

struct Deadline {
  std::chrono::nanoseconds at{};  ///< of the monotonic clock
  std::string why;
};
/// When a run with this run.max_wall_time must begin to stop: before that is over, by the grace time and at most a
/// tenth of the whole, so that a last checkpoint finds its time. `began` is of the monotonic clock. None without a
/// limit.
std::optional<Deadline> deadline(std::optional<Duration> max_wall_time, Duration grace, std::chrono::nanoseconds began);

/// asked() is called between micro-batches, and tells `service` that work goes on.
class OutsideStop : public engine::StopFlag {
 public:
  OutsideStop(const base::SignalWatcher& watcher, std::optional<Deadline> deadline, Service& service,
              const base::Clock& clock = base::Clock::real())
      : watcher_(watcher), deadline_(std::move(deadline)), service_(service), clock_(clock) {}
  [[nodiscard]] const std::string* asked() const override;
  [[nodiscard]] bool raised() const override { return why() != nullptr; }
  [[nodiscard]] const char* kind() const override { return watcher_.asked() != nullptr ? "signal" : "max_wall_time"; }

 private:
  [[nodiscard]] const std::string* why() const;

  const base::SignalWatcher& watcher_;
  std::optional<Deadline> deadline_;
  Service& service_;
  const base::Clock& clock_;
};

}  // namespace holdfast::app
