// One read of the whole file into memory of our own: what another process writes meanwhile fails a checksum at most.
#include "supervise/recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/folder.hpp"

namespace holdfast::supervise {
namespace {

constexpr int kTries = 4;  // of a value that its writer may be changing

/// Text may come from anybody: the last byte is no promise, so Words::view() is bounded, and enums are checked here.
void make_sane(Live& live) {
  if (live.phase > Phase::kEnding) live.phase = Phase::kTraining;
  if (live.sign > Sign::kShortage) live.sign = Sign::kPoll;
}

template <class T>
std::optional<T> value_of(const Slot<T> (&copies)[2]) {
  const Slot<T>* slot = newest(copies);
  if (slot == nullptr) return std::nullopt;
  T value = slot->value;
  if constexpr (std::is_same_v<T, Live>) make_sane(value);
  return value;
}

std::vector<Sample> samples_of(const RecordFile& record) {
  std::vector<const Slot<Sample>*> whole;
  for (const auto& slot : record.samples)
    if (is_whole(slot)) whole.push_back(&slot);
  std::sort(whole.begin(), whole.end(), [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  std::vector<Sample> samples;
  samples.reserve(whole.size());
  for (const auto* slot : whole) samples.push_back(slot->value);
  return samples;
}

/// Empty when the first bytes are those of a record of this version.
std::string fault_of(const RecordFile& record) {
  const Preamble ours;
  if (record.preamble.magic != ours.magic) return "it is no flight recorder's file";
  if (record.preamble.version != kRecordVersion)
    return "it has version " + std::to_string(record.preamble.version) + ", this holdfast reads version " +
           std::to_string(kRecordVersion);
  if (record.preamble.samples != kSamples) return "its ring has another length";
  if (!is_whole(record.attempt)) return "its attempt is damaged";
  return {};
}

/// The file's first `size` bytes; a reason otherwise.
Access load(const std::string& path, RecordFile& record, std::string& fault) {
  const base::File file = base::open_regular(path, O_RDONLY);
  if (file.fd() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Access::kAbsent;
    if (errno == EACCES || errno == EPERM) return Access::kForbidden;
    fault = errno == EINVAL || errno == ELOOP ? "it is no regular file" : std::strerror(errno);
    return Access::kBroken;
  }
  const ssize_t got = ::pread(file.fd(), &record, sizeof record, 0);
  fault = got == static_cast<ssize_t>(sizeof record) ? fault_of(record) : "it is too short";
  return fault.empty() ? Access::kValue : Access::kBroken;
}

}  // namespace

Found<Recording> read_recording(const std::string& path) {
  Found<Recording> found;
  found.source = path;
  const auto record = std::make_unique<RecordFile>();
  found.access = load(path, *record, found.fault);
  if (!found) return found;
  found.value.attempt = record->attempt.value;
  found.value.live = value_of(record->live);
  for (int i = 0; i < kTries && !found.value.live; ++i)
    if (load(path, *record, found.fault) == Access::kValue) found.value.live = value_of(record->live);
  found.value.shortage = value_of(record->shortage);
  found.value.stop = value_of(record->stop);
  found.value.fatal = value_of(record->fatal);
  found.value.samples = samples_of(*record);
  return found;
}

Found<Pulse> read_pulse(const std::string& path) {
  const Found<Recording> whole = read_recording(path);
  Found<Pulse> found;
  found.access = whole.access;
  found.source = whole.source;
  found.fault = whole.fault;
  if (!found) return found;
  found.value = {whole.value.attempt.pid, whole.value.attempt.hang_seconds, whole.value.live, whole.value.stop};
  return found;
}

}  // namespace holdfast::supervise
