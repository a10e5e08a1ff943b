// A mutex, a condition and at most one piece of work.
#include "checkpoint/writer.hpp"

#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "base/signal.hpp"

namespace holdfast::checkpoint {
namespace {

Writer::Result carry_out(const Writer::Work& work) {
  Writer::Result result;
  try {
    result.saved = work();
  } catch (const Error& error) {
    result.failure = error;
  } catch (const std::bad_alloc&) {
    result.failure = Error(ExitCode::kHostOutOfMemory, "memory.host", "checkpoint",
                           "the host has no memory left to write a checkpoint with");
  } catch (const std::exception& error) {
    result.failure = Error(ExitCode::kBug, "checkpoint.exception", "checkpoint", error.what());
  }
  return result;
}

}  // namespace

struct Writer::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  Work work;  // guarded by mutex, as all below
  std::optional<Result> result;
  bool begun = false, ending = false;
  std::thread thread;

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || work; });
      if (!work) return;
      const Work now = std::exchange(work, {});
      lock.unlock();
      Result made = carry_out(now);
      lock.lock();
      result = std::move(made);
      changed.notify_all();
    }
  }
};

Writer::Writer() : impl_(std::make_unique<Impl>()) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->changed.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Writer::begin(Work work) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->begun) throw Error(ExitCode::kBug, "checkpoint.busy", "", "a checkpoint is being written already");
    impl_->begun = true;
    impl_->work = std::move(work);
  }
  if (!impl_->thread.joinable()) {
    const base::SignalsBlocked no_signals;
    impl_->thread = std::thread([this] { impl_->serve(); });
  }
  impl_->changed.notify_all();
}

bool Writer::busy() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->begun;
}

std::optional<Writer::Result> Writer::take(bool wait) {
  std::unique_lock lock(impl_->mutex);
  if (!impl_->begun) return std::nullopt;
  if (wait) impl_->changed.wait(lock, [this] { return impl_->result.has_value(); });
  if (!impl_->result) return std::nullopt;
  impl_->begun = false;
  return std::exchange(impl_->result, std::nullopt);
}

}  // namespace holdfast::checkpoint
