// Names and checksums of records.
#include "supervise/record.hpp"

#include <cstring>

namespace holdfast::supervise {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return "starting";
    case Phase::kTraining:
      return "training";
    case Phase::kEvaluating:
      return "evaluating";
    case Phase::kSaving:
      return "saving";
    case Phase::kEnding:
      return "ending";
  }
  return "unknown";
}

std::string_view sign_name(Sign sign) {
  switch (sign) {
    case Sign::kBegun:
      return "the beginning of the training";
    case Sign::kWindow:
      return "the end of a window";
    case Sign::kPoll:
      return "a look for stop requests";
    case Sign::kEvaluation:
      return "the beginning of an evaluation";
    case Sign::kEvaluated:
      return "the end of an evaluation";
    case Sign::kSave:
      return "the beginning of a checkpoint";
    case Sign::kSaved:
      return "the end of a checkpoint";
    case Sign::kShortage:
      return "running out of memory";
  }
  return "something unknown";
}

std::uint64_t slot_checksum(std::uint64_t sequence, const void* value, std::size_t size) noexcept {
  const auto mix = [](std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
  };
  std::uint64_t sum = mix(sequence + size);
  const char* bytes = static_cast<const char*>(value);
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    sum = mix(sum ^ word);
  }
  if (size > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    sum = mix(sum ^ word ^ (std::uint64_t{size} << 56));
  }
  return sum == 0 ? 1 : sum;
}

}  // namespace holdfast::supervise
