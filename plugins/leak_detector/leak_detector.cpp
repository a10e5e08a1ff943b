// Lowest use a tenth; a leak is a row of tenths that only rise.
#include "leak_detector.hpp"

#include <algorithm>
#include <cstdio>

namespace holdfast::plugins {
namespace {

constexpr std::size_t kTenths = 10;

double kibibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1024; }

}  // namespace

void LeakDetector::declare(OptionTable& options) {
  options.integer("windows", 500)
      .min(static_cast<std::int64_t>(kTenths))
      .max(10'000'000)
      .doc("windows over which memory must have grown without pause to be called a leak");
}

LeakDetector::LeakDetector(const Options& options, const Context& context)
    : log_(context.log), tenth_(options.integer("windows") / static_cast<std::int64_t>(kTenths)) {}

void LeakDetector::window_end(const WindowReport& report, Requests&) {
  if (!report.memory) return;
  const std::int64_t within = seen_++ % tenth_;
  const bool first = within == 0, last = within == tenth_ - 1;
  watch(device_, report.memory->device(), report.update, first, last);
  watch(host_, report.memory->host(), report.update, first, last);
}

void LeakDetector::watch(Watched& watched, const MemoryUse& use, std::int64_t update, bool first, bool last) {
  if (watched.told) return;
  watched.lowest = first ? use.used : std::min(watched.lowest, use.used);
  if (!last) return;
  auto& tenths = watched.tenths;
  if (!tenths.empty() && watched.lowest <= tenths.back().lowest) tenths.clear();
  tenths.push_back({watched.lowest, update});
  if (tenths.size() > kTenths) tenths.erase(tenths.begin());
  const std::int64_t updates = tenths.back().update - tenths.front().update;
  if (tenths.size() < kTenths || updates <= 0) return;
  watched.told = true;
  const std::int64_t grown = tenths.back().lowest - tenths.front().lowest;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s memory leaks: what is in use between windows has grown by %.1f KiB an update over %lld updates, to "
                "%.1f KiB (%.1f KiB reserved); something keeps tensors of every window, for example a sum of losses "
                "that was not detached",
                watched.name, kibibytes(grown) / static_cast<double>(updates), static_cast<long long>(updates),
                kibibytes(use.used), kibibytes(use.reserved));
  log_.warn(text);
}

}  // namespace holdfast::plugins
