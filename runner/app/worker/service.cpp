// One line a message and a status of one line.
#include "app/worker/service.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "app/front/source.hpp"
#include "base/text.hpp"

namespace holdfast::app {
namespace {

constexpr Duration kStatusEvery = std::chrono::seconds(5);

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

ServiceSettings service_settings(Duration grace) {
  ServiceSettings settings;
  settings.socket = environment("NOTIFY_SOCKET").value_or("");
  settings.grace = grace;
  const auto pid = environment("WATCHDOG_PID");
  if (!pid || number(*pid) == getpid())
    settings.watchdog = std::chrono::microseconds(number(environment("WATCHDOG_USEC").value_or("")));
  return settings;
}

void Service::send(std::string_view assignments, std::string_view status) {
  socket_.send(std::string(assignments) + "\nSTATUS=" + base::terminal_safe_line(std::string(status)));
}

void Service::started(std::int64_t update, std::int64_t total) {
  if (!socket_.listens()) return;
  total_ = total;
  send("READY=1", "update " + std::to_string(update) + " of " + std::to_string(total));
  alive();
}

void Service::window(const WindowReport& report) {
  if (!socket_.listens()) return;
  alive();
  if (stopping_ || settings_.clock->monotonic() < next_status_) return;
  next_status_ = settings_.clock->monotonic() + kStatusEvery;
  char loss[40];
  std::snprintf(loss, sizeof loss, "%.4g", report.loss);
  socket_.send("STATUS=update " + std::to_string(report.update) + " of " + std::to_string(total_) + ", loss " + loss);
}

void Service::alive() {
  if (settings_.watchdog <= Duration{} || !socket_.listens()) return;
  const Duration now = settings_.clock->monotonic();
  if (now < next_sign_) return;
  next_sign_ = now + settings_.watchdog / 4;
  socket_.send("WATCHDOG=1");
}

void Service::stopping(std::string_view why) {
  if (stopping_) return;
  stopping_ = true;
  const auto grace = std::chrono::duration_cast<std::chrono::microseconds>(settings_.grace).count();
  send("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + std::to_string(grace), why);
}

}  // namespace holdfast::app
