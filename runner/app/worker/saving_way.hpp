// Whether a run's states are written on another thread or between two windows, and why. Knows no tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/state_view.hpp"

namespace holdfast::app {

/// What the host has left, in bytes; none where nothing limits it or nobody can tell.
struct HostRoom {
  std::optional<std::int64_t> budget;   ///< of memory.host_budget
  std::optional<std::int64_t> machine;  ///< what the kernel calls available (proc(5), MemAvailable)
  std::optional<std::int64_t> group;    ///< of the control group that is nearest its limit
};
/// For this process, now.
HostRoom host_room();

struct SavingWay {
  bool behind = false;  ///< on another thread
  std::string why;      ///< where it is not, although the recipe asks for it: one sentence
};
/// `asked`: checkpoint.async. A second state of `bytes` must fit beside all that is there, with a tenth of what is left
/// to spare.
SavingWay saving_way(bool asked, std::int64_t bytes, const HostRoom& room);

/// As a row of `holdfast plan`: "in the background", or "between two windows" and why.
struct SavingRow {
  std::string value, owner;
};
SavingRow saving_row(const SavingWay& way);

std::int64_t bytes_of(const base::StateView& state);

}  // namespace holdfast::app
