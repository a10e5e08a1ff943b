// Which operator of LibTorch the calling thread is in. Knows no tensors.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::device {

/// While one exists, operators that the calling thread begins are followed, at about a microsecond each. At most one a
/// thread.
class OperatorNames {
 public:
  OperatorNames();
  ~OperatorNames();
  OperatorNames(const OperatorNames&) = delete;
  OperatorNames& operator=(const OperatorNames&) = delete;
  /// The innermost one ("addmm"), valid while it runs; empty outside of any.
  [[nodiscard]] static std::string_view current();

 private:
  std::uint64_t handle_;
};

}  // namespace holdfast::device
