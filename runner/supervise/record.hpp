// The layout of recorder.bin, version 2: what a run leaves behind even when it is killed. Plain values of fixed size,
// little-endian; knows neither who writes nor who reads.
//
// Bytes 0 to 4095: Preamble, then Attempt as one slot. Then, each as two slots that are written in turn, Live,
// Shortage, Stop and Fatal; then kSamples slots of Sample, the ring. A slot is {checksum, sequence, value}: a write
// that death cut short fails its checksum, and the other copy, one write older, still stands. Figures that nobody knows
// are kUnknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace holdfast::supervise {

inline constexpr std::uint32_t kRecordVersion = 2;
inline constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

enum class Phase : std::uint32_t { kStarting, kTraining, kEvaluating, kSaving, kEnding };
/// The last thing that the training thread told of itself.
enum class Sign : std::uint32_t { kBegun, kWindow, kPoll, kEvaluation, kEvaluated, kSave, kSaved, kShortage };

std::string_view phase_name(Phase phase);  ///< "training"; "unknown" for a number that is none
std::string_view sign_name(Sign sign);     ///< for sentences: "the end of a window"

/// Text in a fixed room, ended by a zero or by the room.
template <std::size_t kRoom>
struct Words {
  std::array<char, kRoom> bytes{};
  void set(std::string_view text) noexcept {
    bytes.fill('\0');
    for (std::size_t i = 0; i < text.size() && i < kRoom; ++i) bytes[i] = text[i];
  }
  [[nodiscard]] std::string_view view() const noexcept {
    std::size_t size = 0;
    while (size < kRoom && bytes[size] != '\0') ++size;
    return {bytes.data(), size};
  }
};

/// What held when the attempt began. Times: CLOCK_MONOTONIC and Unix, in nanoseconds.
struct Attempt {
  std::int64_t number = 1, pid = 0, supervisor = 0;  ///< supervisor: its pid, or 0
  std::int64_t monotonic = 0, wall = 0;
  Words<40> boot_id;
  Words<64> host;
  Words<512> memory_group;        ///< folder of the memory control group's files; empty: none found
  std::int64_t group_kills = 0;   ///< processes of that group and below that the kernel had killed for memory
  std::int64_t system_kills = 0;  ///< the same of the whole system
  std::int64_t memory_total = 0;
  std::int64_t limit_address_space = 0, limit_file_size = 0, limit_cpu_seconds = 0, limit_descriptors = 0,
               limit_processes = 0;  ///< soft limits; kUnknown: unlimited
  Words<32> version;
  Words<32> device;
  std::int64_t hang_seconds = 0;  ///< time without progress that counts as a hang
};

/// Where the training thread is. Written by it alone.
struct Live {
  std::int64_t update = 0, window = 0, epoch = 0, samples_seen = 0, dropped = 0, beats = 0;
  std::int64_t monotonic = 0, wall = 0;
  double loss = 0;
  std::int64_t bad_updates = 0, first_bad_update = 0;  ///< windows that were signs of divergence; 0: none
  Phase phase = Phase::kStarting;
  Sign sign = Sign::kBegun;
};

/// The last time that memory ran out.
struct Shortage {
  std::int64_t count = 0, update = 0, micro_batch = 0, monotonic = 0;
  Words<16> phase;
  Words<64> action;
  Words<640> text;
};

/// The stop that was asked for.
struct Stop {
  std::int64_t monotonic = 0, wall = 0;
  Words<128> why;
};

/// The signal that ended the process from inside.
struct Fatal {
  std::int64_t signal = 0, code = 0, monotonic = 0, thread = 0;
  std::uint64_t address = 0;
  Words<64> plugin;
  Words<64> call;
  Words<256> mapping;  ///< what is mapped at the address: a path; empty: nothing with a name
};

struct Gpu {
  std::int64_t status = kUnknown;  ///< of NVML (nvml.h nvmlReturn_t): 0 is well; kUnknown: not asked
  std::int64_t temperature_celsius = kUnknown, power_milliwatts = kUnknown, sm_clock_mhz = kUnknown;
  std::int64_t clock_reasons = kUnknown;  ///< bits of nvml.h, nvmlClocksEventReason*
  std::int64_t memory_used = kUnknown, memory_total = kUnknown;
  std::int64_t last_xid = kUnknown;  ///< newest XID event seen by this attempt
};

/// The surroundings at one moment, by the recorder's own thread. Pressure: hundredths of a percent over 10 s.
struct Sample {
  std::int64_t monotonic = 0, wall = 0, update = 0;
  std::int64_t resident = kUnknown, group_usage = kUnknown, group_limit = kUnknown, group_kills = kUnknown,
               system_kills = kUnknown, available = kUnknown;
  std::int64_t memory_pressure = kUnknown, io_pressure = kUnknown, cpu_pressure = kUnknown;
  std::int64_t disk_free = kUnknown, disk_files = kUnknown, shm_free = kUnknown, shm_total = kUnknown;
  std::int64_t descriptors = kUnknown, threads = kUnknown;
  std::int64_t device_allocated = kUnknown, device_reserved = kUnknown, device_budget = kUnknown,
               host_allocated = kUnknown;
  Gpu gpu;
};

struct Preamble {
  std::array<char, 8> magic{'H', 'F', 'R', 'E', 'C', '\r', '\n', '\x1a'};
  std::uint32_t version = kRecordVersion;
  std::uint32_t samples = 0;
};

template <class T>
struct Slot {
  std::uint64_t checksum;
  std::uint64_t sequence;  ///< 0: never written
  T value;
};

inline constexpr std::uint32_t kSamples = 600;  ///< ten minutes

/// The whole file.
struct RecordFile {
  alignas(4096) Preamble preamble;
  Slot<Attempt> attempt;
  alignas(4096) Slot<Live> live[2];
  Slot<Shortage> shortage[2];
  Slot<Stop> stop[2];
  Slot<Fatal> fatal[2];
  Slot<Sample> samples[kSamples];
};
static_assert(std::is_trivially_copyable_v<RecordFile>);
static_assert(sizeof(Slot<Attempt>) + sizeof(Preamble) <= 4096);

/// Of sequence and value; never 0. The mixing steps are those of MurmurHash3's 64-bit finaliser (Appleby, public
/// domain).
std::uint64_t slot_checksum(std::uint64_t sequence, const void* value, std::size_t size) noexcept;

/// Whether the slot holds a value that was written whole.
template <class T>
bool is_whole(const Slot<T>& slot) noexcept {
  return slot.sequence != 0 && slot.checksum == slot_checksum(slot.sequence, &slot.value, sizeof(T));
}

/// The newer whole one of two copies; null when there is none.
template <class T>
const Slot<T>* newest(const Slot<T> (&copies)[2]) noexcept {
  const bool first = is_whole(copies[0]), second = is_whole(copies[1]);
  if (first && second) return copies[0].sequence > copies[1].sequence ? &copies[0] : &copies[1];
  return first ? &copies[0] : second ? &copies[1] : nullptr;
}

}  // namespace holdfast::supervise
