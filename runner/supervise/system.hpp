// The machine as post-mortems and checks see it, behind an interface: files of the kernel, room on file systems, GPUs.
// Asks only; changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "supervise/source.hpp"

namespace holdfast::supervise {

struct Room {
  std::int64_t total = 0, free = 0;              ///< bytes; free: for this user
  std::int64_t files_total = 0, files_free = 0;  ///< 0 and 0: the file system counts none
  bool read_only = false;
};

struct GpuReading {
  std::string name, uuid;
  std::int64_t status = 0;  ///< nvmlReturn_t of asking it: 15 lost, 16 reset required
  std::int64_t temperature_celsius = 0, power_milliwatts = 0, sm_clock_mhz = 0, clock_reasons = 0;
  std::int64_t memory_used = 0, memory_total = 0;
};

/// What NVML says. `status` is nvmlReturn_t of its initialisation: 0 well, 9 no driver, 17 blocked, 18 library and
/// driver of different versions.
struct GpuReport {
  std::int64_t status = 0;
  std::string driver, library;  ///< versions
  std::int64_t cuda = 0;        ///< newest CUDA that the driver takes: 12040 is 12.4; 0: not told
  std::vector<GpuReading> gpus;
};

/// Soft limits of this process; negative: unlimited.
struct Limits {
  std::int64_t descriptors = -1, processes = -1, file_size = -1, address_space = -1, cpu_seconds = -1, locked = -1;
};

class System {
 public:
  virtual ~System() = default;
  /// A text file such as /proc/self/cgroup, at most `limit` bytes of it.
  [[nodiscard]] virtual Found<std::string> text(const std::string& path, std::size_t limit = 1U << 20) const = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) const = 0;
  /// Of the file system that holds the path, or the nearest folder above it that exists.
  [[nodiscard]] virtual Found<Room> room(const std::string& path) const = 0;
  /// Records of the kernel's log as /dev/kmsg gives them, oldest first, one a line.
  [[nodiscard]] virtual Found<std::string> kernel_log() const = 0;
  /// Absent when there is no NVML library.
  [[nodiscard]] virtual Found<GpuReport> gpus() const = 0;
  [[nodiscard]] virtual Limits limits() const = 0;
  /// Unix and CLOCK_MONOTONIC, nanoseconds.
  [[nodiscard]] virtual std::int64_t wall() const = 0;
  [[nodiscard]] virtual std::int64_t monotonic() const = 0;
  /// A time server keeps the clock (adjtimex(2)).
  [[nodiscard]] virtual bool clock_is_kept() const = 0;
};

/// This machine. A `root` other than "" is put before the paths of /proc, /sys and /dev, for tests with a tree of their
/// own; the kernel's log is then the plain file <root>/dev/kmsg.
class RealSystem final : public System {
 public:
  explicit RealSystem(std::string root = {}) : root_(std::move(root)) {}
  [[nodiscard]] Found<std::string> text(const std::string& path, std::size_t limit) const override;
  [[nodiscard]] bool exists(const std::string& path) const override;
  [[nodiscard]] Found<Room> room(const std::string& path) const override;
  [[nodiscard]] Found<std::string> kernel_log() const override;
  [[nodiscard]] Found<GpuReport> gpus() const override;
  [[nodiscard]] Limits limits() const override;
  [[nodiscard]] std::int64_t wall() const override;
  [[nodiscard]] std::int64_t monotonic() const override;
  [[nodiscard]] bool clock_is_kept() const override;

 private:
  [[nodiscard]] std::string at(const std::string& path) const;
  std::string root_;
};

}  // namespace holdfast::supervise
