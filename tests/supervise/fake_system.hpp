// A machine that a test describes: files by path, with those that are forbidden, room by path, and a GPU report.
#pragma once

#include <map>
#include <set>
#include <string>

#include "supervise/system.hpp"

namespace holdfast::test {

class FakeSystem final : public supervise::System {
 public:
  std::map<std::string, std::string> files;
  std::set<std::string> forbidden;
  std::map<std::string, supervise::Room> rooms;  ///< by path; others have plenty
  supervise::Found<supervise::GpuReport> gpu_report;
  supervise::Limits soft_limits;
  std::int64_t wall_ns = 1'800'000'000'000'000'000, monotonic_ns = 1'000'000'000'000;
  bool clock_kept = true;

  [[nodiscard]] supervise::Found<std::string> text(const std::string& path, std::size_t limit) const override {
    supervise::Found<std::string> found;
    found.source = path;
    const auto file = files.find(path);
    if (forbidden.contains(path))
      found.access = supervise::Access::kForbidden;
    else if (file != files.end())
      found.access = supervise::Access::kValue, found.value = file->second.substr(0, limit);
    return found;
  }
  [[nodiscard]] bool exists(const std::string& path) const override {
    if (forbidden.contains(path) || rooms.contains(path)) return true;
    const auto next = files.lower_bound(path);
    return next != files.end() && (next->first == path || next->first.starts_with(path + "/"));
  }
  [[nodiscard]] supervise::Found<supervise::Room> room(const std::string& path) const override {
    supervise::Found<supervise::Room> found;
    found.access = supervise::Access::kValue;
    found.source = path;
    const auto known = rooms.find(path);
    found.value = known != rooms.end() ? known->second : supervise::Room{1LL << 40, 1LL << 39, 1000000, 900000, false};
    return found;
  }
  [[nodiscard]] supervise::Found<std::string> kernel_log() const override { return text("/dev/kmsg", 1 << 22); }
  [[nodiscard]] supervise::Found<supervise::GpuReport> gpus() const override { return gpu_report; }
  [[nodiscard]] supervise::Limits limits() const override { return soft_limits; }
  [[nodiscard]] std::int64_t wall() const override { return wall_ns; }
  [[nodiscard]] std::int64_t monotonic() const override { return monotonic_ns; }
  [[nodiscard]] bool clock_is_kept() const override { return clock_kept; }
};

}  // namespace holdfast::test
