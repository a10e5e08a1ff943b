// The watcher: a thread that polls a signalfd and an eventfd for its end.
#include "base/signal.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::base {
namespace {

constexpr std::chrono::milliseconds kSameRequest{100};

constexpr std::chrono::seconds kAfterSaving{1};

/// And the kernel's warning that the processor time is nearly used up.
sigset_t watched() {
  sigset_t set = stop_signals();
  sigaddset(&set, SIGXCPU);
  return set;
}

std::string describe(const signalfd_siginfo& info) {
  if (info.ssi_signo == SIGXCPU) return "SIGXCPU: the limit on processor time (ulimit -t) is reached";
  const std::string name = info.ssi_signo == SIGINT ? "SIGINT" : info.ssi_signo == SIGHUP ? "SIGHUP" : "SIGTERM";
  return info.ssi_code == SI_KERNEL ? name + " from the terminal" : name + " from pid " + std::to_string(info.ssi_pid);
}

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return descriptor;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited {};
    ::sigaction(number, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

void block_signals() {
  const sigset_t set = watched();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP}) sigdelset(&set, fault);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void restore_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGXCPU);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
}

struct SignalWatcher::Impl {
  Impl(std::function<void(const std::string&)> first, std::function<void(const std::string&, ExitCode)> second)
      : on_first(std::move(first)),
        on_second(std::move(second)),
        signals(signal_descriptor()),
        end(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        thread([this] { watch(); }) {}

  ~Impl() {
    const std::uint64_t one = 1;
    while (::write(end.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread.join();
  }

  static int signal_descriptor() {
    const sigset_t set = watched();
    return checked(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  }

  void watch() {
    while (true) {
      pollfd wanted[] = {{signals.get(), POLLIN, 0}, {end.get(), POLLIN, 0}};
      if (::poll(wanted, 2, patience()) < 0) continue;  // EINTR: a debugger or SIGCONT
      signalfd_siginfo info{};
      while (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) take(info);
      if (wanted[1].revents != 0) return;
      if (patience() == 0) leave_late();
    }
  }

  /// Milliseconds until the process must be gone; -1: nobody asked, or there is no limit.
  int patience() const {
    const auto limit = grace.load(std::memory_order_relaxed);
    if (limit == 0 || asked.load(std::memory_order_relaxed) == nullptr) return -1;
    const auto all = std::chrono::milliseconds(limit);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(first_at + all - std::min<std::chrono::milliseconds>(all / 10, std::chrono::seconds(1)), not_before) -
        std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
  }

  /// Who kills now kills a write that loses nothing; where nobody does, the checkpoint is still made.
  void leave_late() {
    if (saving.load(std::memory_order_acquire) == 0)
      leave(text + ": the grace time of " + std::to_string(grace.load() / 1000) + " s is over");
    not_before = std::chrono::steady_clock::now() + kAfterSaving;
  }

  void take(const signalfd_siginfo& info) {
    const auto now = std::chrono::steady_clock::now();
    if (asked.load(std::memory_order_relaxed) == nullptr) {
      text = describe(info);
      first_at = now;
      asked.store(&text, std::memory_order_release);
      if (on_first) on_first(text);
    } else if (now - first_at >= kSameRequest && info.ssi_signo != SIGXCPU) {  // which comes each second
      leave(describe(info) + ", the second stop request");
    }
  }

  [[noreturn]] void leave(const std::string& why) const {
    const bool safe = saved.load(std::memory_order_acquire);
    const std::string reason =
        why + ": leaving at once, " + (safe ? "the state was saved" : "without a new checkpoint");
    const std::string line = "holdfast: " + reason + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    const ExitCode code = safe ? ExitCode::kStoppedAfterSave : ExitCode::kStoppedWithoutSave;
    if (on_second) on_second(reason, code);
    ::_exit(static_cast<int>(code));
  }

  std::function<void(const std::string&)> on_first;
  std::function<void(const std::string&, ExitCode)> on_second;
  std::string text;  // written once by the thread, before `asked` is published
  std::atomic<const std::string*> asked{nullptr};
  std::atomic<bool> saved{false};
  std::atomic<int> saving{0};
  std::atomic<std::int64_t> grace{0};  // milliseconds; 0: no limit
  std::chrono::steady_clock::time_point first_at, not_before;
  Descriptor signals, end;
  std::thread thread;  // last: starts when everything else is there
};

SignalWatcher::SignalWatcher(std::function<void(const std::string&)> on_first,
                             std::function<void(const std::string&, ExitCode)> on_second)
    : impl_(std::make_unique<Impl>(std::move(on_first), std::move(on_second))) {}
SignalWatcher::~SignalWatcher() = default;

const std::string* SignalWatcher::asked() const noexcept { return impl_->asked.load(std::memory_order_acquire); }

void SignalWatcher::set_grace(std::chrono::milliseconds grace) noexcept { impl_->grace.store(grace.count()); }

void SignalWatcher::begin_saving() noexcept { impl_->saving.fetch_add(1, std::memory_order_acq_rel); }
void SignalWatcher::end_saving() noexcept { impl_->saving.fetch_sub(1, std::memory_order_acq_rel); }

void SignalWatcher::note_saved() noexcept {
  // A checkpoint from before the request says nothing about the state that the stop would lose.
  if (asked() != nullptr) impl_->saved.store(true, std::memory_order_release);
}

}  // namespace holdfast::base
