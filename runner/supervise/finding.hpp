// The rules of post-mortems, one group of causes each. Private to this folder; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervise/cause.hpp"
#include "supervise/evidence.hpp"
#include "supervise/verdict.hpp"

namespace holdfast::supervise {

struct Finding {
  Cause cause{};
  Certainty certainty{};
  std::string sentence;
  std::vector<std::string> evidence;
  std::optional<int> code = {};  ///< where it is not the cause's own
};

/// The parent, or stacks.txt, says that the process made no progress and was killed for it.
std::optional<Finding> find_hang(const Evidence& at);
/// status.json holds the run's own last word: its exit code and a sentence.
Finding from_last_word(const Evidence& at);
/// The recorder holds the signal that the process raised against itself.
std::optional<Finding> from_fatal(const Evidence& at);
/// The process left with this code before it had a status of its own.
Finding from_exit_code(const Evidence& at, int code);
/// It died without a word, or by a signal from outside.
Finding from_silence(const Evidence& at);

/// Driver and library, or devices, do not fit together or are not there.
std::optional<Finding> find_driver(const Evidence& at);
/// The kernel's log or NVML tell of a GPU's fault since the attempt began.
std::optional<Finding> find_gpu_fault(const Evidence& at);
/// Somebody was killed for memory since the last sample; how surely it was this process.
std::optional<Finding> find_host_oom(const Evidence& at);

/// The file system of the run is full now, and was when the recorder last looked: the run's last word found no room.
std::optional<Finding> find_full_disk(const Evidence& at);

std::string signal_name(int signal);  ///< "SIGKILL"

}  // namespace holdfast::supervise
