// Writers take turns on the two copies of a slot: the value and its sequence first, the checksum over both last.
#include "supervise/recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/folder.hpp"
#include "base/signal.hpp"

namespace holdfast::supervise {
namespace {

constexpr std::chrono::milliseconds kFlush{250};

std::int64_t now_of(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{1000000000} * now.tv_sec + now.tv_nsec;
}

template <class T>
void seal(Slot<T>& slot, std::uint64_t sequence, const T& value) noexcept {
  slot.checksum = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // death between two stores must find them in this order
  slot.value = value;
  slot.sequence = sequence;
  const std::uint64_t sum = slot_checksum(sequence, &value, sizeof(T));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot.checksum = sum;
}

/// Magic numbers of statfs(2) and linux/magic.h whose files lie on this machine.
bool is_local(int file) {
  struct statfs info {};
  if (::fstatfs(file, &info) != 0) return false;
  constexpr std::array<unsigned long, 9> kLocal = {0xEF53,       // ext2, ext3, ext4
                                                   0x58465342,   // xfs
                                                   0x9123683E,   // btrfs
                                                   0x01021994,   // tmpfs
                                                   0x794c7630,   // overlayfs
                                                   0xF2F52010,   // f2fs
                                                   0x2FC12FC1,   // zfs
                                                   0x858458f6,   // ramfs
                                                   0xca451a4e};  // bcachefs
  for (const unsigned long magic : kLocal)
    if (static_cast<unsigned long>(info.f_type) == magic) return true;
  return false;
}

std::string cannot(const std::string& path, int reason) {
  return "the flight recorder " + path + " cannot be written (" + std::strerror(reason) +
         "): `holdfast why` will know less of a sudden death";
}

/// A new file of this size in place of an old one; a negative descriptor with errno on failure.
base::File make_file(const std::string& path) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  base::File file = base::open_regular(fresh, O_RDWR | O_CREAT | O_EXCL);
  if (file.fd() < 0) return file;
  // Allocated now: a hole in a mapped file would become SIGBUS on a full disk.
  int failed = ::posix_fallocate(file.fd(), 0, sizeof(RecordFile));
  if (failed == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return file;
  ::unlink(fresh.c_str());
  errno = failed;
  return base::File();
}

}  // namespace

std::int64_t monotonic_ns() noexcept { return now_of(CLOCK_MONOTONIC); }
std::int64_t wall_ns() noexcept { return now_of(CLOCK_REALTIME); }

struct Recorder::Impl {
  base::File file;
  RecorderOptions options;
  RecordFile* record = nullptr;
  bool mapped = false;
  std::mutex mutex;  ///< of `record` and `live`; taken by the loop without waiting but for a copy of two pages
  Live live;
  Shortage shortage;
  std::uint64_t live_sequence = 0, other_sequence = 0, sample_sequence = 0;
  std::atomic<bool> dead{false};
  std::condition_variable wake;
  bool ending = false;
  std::thread thread;

  void finish() {
    if (!thread.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    thread.join();
  }

  ~Impl() {
    finish();
    if (record != nullptr) ::munmap(record, sizeof(RecordFile));
  }

  void begin(const Attempt& attempt) {
    record->preamble = Preamble{};
    record->preamble.samples = kSamples;
    seal(record->attempt, 1, attempt);
    live.monotonic = monotonic_ns();
    live.wall = wall_ns();
    put_live();
    write_all();
    take_sample();  // so that even the shortest run has one to compare with
    const base::SignalsBlocked blocked;
    thread = std::thread([this] { watch(); });
  }

  /// Under the mutex.
  void put_live() noexcept {
    ++live_sequence;
    seal(record->live[live_sequence & 1], live_sequence, live);
  }
  template <class T>
  void put(Slot<T> (&copies)[2], const T& value) noexcept {
    ++other_sequence;
    seal(copies[other_sequence & 1], other_sequence, value);
  }

  void write_piece(const void* from, std::size_t size) const noexcept {
    const auto offset = static_cast<const char*>(from) - reinterpret_cast<const char*>(record);
    (void)!::pwrite(file.fd(), from, size, offset);
  }
  void write_all() const noexcept {
    if (!mapped) write_piece(record, sizeof(RecordFile));
  }

  void watch() {
    auto due = std::chrono::steady_clock::now() + options.every;
    std::unique_lock lock(mutex);
    while (!ending) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= due) {
        due = now + options.every;
        lock.unlock();
        take_sample();
        lock.lock();
      }
      if (!mapped) flush(lock);
      wake.wait_until(lock, mapped ? due : std::min(due, now + kFlush), [this] { return ending; });
    }
    if (!mapped) flush(lock);
  }

  void take_sample() {
    Sample sample;
    sample.monotonic = monotonic_ns();
    sample.wall = wall_ns();
    if (options.sample) options.sample(sample);
    {
      const std::lock_guard lock(mutex);
      sample.update = live.update;
      Slot<Sample>& slot = record->samples[sample_sequence % kSamples];
      seal(slot, ++sample_sequence, sample);
      if (!mapped) write_piece(&slot, sizeof slot);
    }
    if (options.tick) options.tick();
  }

  /// Copies what the loop writes under the lock, and gives it to the server without. A fault writes itself.
  void flush(std::unique_lock<std::mutex>& lock) {
    constexpr std::size_t kSize = offsetof(RecordFile, fatal) - offsetof(RecordFile, live);
    std::array<char, kSize> copy;
    std::memcpy(copy.data(), record->live, kSize);
    lock.unlock();
    if (!dead) (void)!::pwrite(file.fd(), copy.data(), kSize, offsetof(RecordFile, live));
    lock.lock();
  }
};

std::unique_ptr<Recorder> Recorder::open(const std::string& path, const Attempt& attempt, RecorderOptions options,
                                         std::string& why) {
  try {
    auto impl = std::make_unique<Impl>();
    impl->file = make_file(path);
    if (impl->file.fd() < 0) return why = cannot(path, errno), nullptr;
    impl->mapped = options.placement == Placement::kMapped ||
                   (options.placement == Placement::kByFileSystem && is_local(impl->file.fd()));
    impl->options = std::move(options);
    void* memory =
        ::mmap(nullptr, sizeof(RecordFile), PROT_READ | PROT_WRITE,
               impl->mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, impl->mapped ? impl->file.fd() : -1, 0);
    if (memory == MAP_FAILED) return why = cannot(path, errno), nullptr;
    impl->record = static_cast<RecordFile*>(memory);
    impl->begin(attempt);
    return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
  } catch (const std::exception& failure) {
    return why = std::string("there is no flight recorder: ") + failure.what(), nullptr;
  }
}

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::~Recorder() = default;

void Recorder::window(std::int64_t update, std::int64_t window, std::int64_t epoch, std::int64_t samples_seen,
                      double loss, bool applied) noexcept {
  const std::lock_guard lock(impl_->mutex);
  Live& at = impl_->live;
  at.update = update;
  at.window = window;
  at.epoch = epoch;
  at.samples_seen = samples_seen;
  if (applied) at.loss = loss;
  if (!applied) ++at.dropped;
  at.phase = Phase::kTraining;
  at.sign = Sign::kWindow;
  ++at.beats;
  at.monotonic = monotonic_ns();
  at.wall = wall_ns();
  impl_->put_live();
}

void Recorder::diverged(std::int64_t update) noexcept {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->live.bad_updates++ == 0) impl_->live.first_bad_update = update;
  impl_->put_live();
}

void Recorder::sign(Phase phase, Sign sign) noexcept {
  const std::lock_guard lock(impl_->mutex);
  Live& at = impl_->live;
  at.phase = phase;
  at.sign = sign;
  ++at.beats;
  at.monotonic = monotonic_ns();
  at.wall = wall_ns();
  impl_->put_live();
}

void Recorder::beat() noexcept {
  const std::lock_guard lock(impl_->mutex);
  Live& at = impl_->live;
  at.sign = Sign::kPoll;
  ++at.beats;
  at.monotonic = monotonic_ns();
  impl_->put_live();
}

void Recorder::shortage(std::int64_t update, std::int64_t micro_batch, std::string_view phase, std::string_view action,
                        std::string_view text) noexcept {
  const std::lock_guard lock(impl_->mutex);
  Shortage& last = impl_->shortage;
  ++last.count;
  last.update = update;
  last.micro_batch = micro_batch;
  last.monotonic = monotonic_ns();
  last.phase.set(phase);
  last.action.set(action);
  last.text.set(text);
  impl_->put(impl_->record->shortage, last);
}

void Recorder::stop(std::string_view why) noexcept {
  Stop asked;
  asked.monotonic = monotonic_ns();
  asked.wall = wall_ns();
  asked.why.set(why);
  const std::lock_guard lock(impl_->mutex);
  impl_->put(impl_->record->stop, asked);
}

void Recorder::finish() noexcept { impl_->finish(); }

void Recorder::fatal(const Fatal& fault) noexcept {
  // No lock: its holder may be the thread that crashed. Nobody else writes this slot, and only the first fault counts.
  if (impl_->dead.exchange(true)) return;
  seal(impl_->record->fatal[0], 1, fault);
  if (!impl_->mapped) impl_->write_piece(&impl_->record->fatal[0], sizeof(Slot<Fatal>));
}

}  // namespace holdfast::supervise
