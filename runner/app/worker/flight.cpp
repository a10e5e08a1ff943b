// /proc/self/maps is read with open(2) and read(2) alone: both are allowed in a handler (signal-safety(7)).
#include "app/worker/flight.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "app/front/source.hpp"
#include "base/plugin_guard.hpp"
#include "supervise/evidence.hpp"
#include "supervise/stacks.hpp"
#include "supervise/surroundings.hpp"
#include "telemetry/last_words.hpp"

namespace holdfast::app {
namespace {

constexpr std::int64_t kOrphanNs = 2'000'000'000;

std::unique_ptr<supervise::Recorder> recorder;
std::atomic<supervise::Recorder*> current{nullptr};
std::array<char, 4096> stacks_path{};
std::atomic<bool> stacks_known{false};

/// Ends a process that its supervisor left behind.
class OrphanWatch {
 public:
  explicit OrphanWatch(std::int64_t supervisor) : supervisor_(supervisor) {}
  void operator()() {
    if (supervisor_ == 0 || ::getppid() == supervisor_) return;
    if (since_ == 0) since_ = supervise::monotonic_ns();
    if (supervise::monotonic_ns() - since_ < kOrphanNs) return;
    telemetry::speak_last_words(static_cast<int>(ExitCode::kStoppedWithoutSave),
                                "the supervisor died, and saving took longer than two seconds");
    ::_exit(static_cast<int>(ExitCode::kStoppedWithoutSave));
  }

 private:
  std::int64_t supervisor_, since_ = 0;
};

void put(int file, std::string_view text) { (void)!::write(file, text.data(), text.size()); }

void put_number(int file, long number) {
  std::array<char, 24> digits{};
  std::size_t at = digits.size();
  for (long rest = number; rest > 0 || at == digits.size(); rest /= 10)
    digits[--at] = static_cast<char>('0' + rest % 10);
  put(file, {digits.data() + at, digits.size() - at});
}

void on_stack_request(int) {
  const int error = errno;
  static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  for (int i = 0; i < 1000 && busy.test_and_set(); ++i) ::usleep(1000);  // one thread's lines in a row
  const int file = stacks_known ? ::open(stacks_path.data(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (file >= 0) {
    const base::PluginCall running = base::running_plugin_call();
    put(file, "stack of thread ");
    put_number(file, ::syscall(SYS_gettid));
    if (!running.plugin.empty()) {
      put(file, " in plugin '");
      put(file, running.plugin);
      put(file, "': ");
      put(file, running.call);
    }
    put(file, "\n");
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), file);
    ::close(file);
  }
  busy.clear();
  errno = error;
}

unsigned long long hex_of(const char*& at, const char* end) {
  unsigned long long value = 0;
  for (; at < end; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9')
      value = 16 * value + static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = 16 * value + static_cast<unsigned>(c - 'a' + 10);
    else
      break;
  }
  return value;
}

/// One line of maps: "BEGIN-END PERMS OFFSET DEV INODE   PATH". True when it holds the address; the path is recorded.
bool take_line(std::string_view line, std::uint64_t address, supervise::Fatal& into) {
  const char *at = line.data(), *end = line.data() + line.size();
  const auto begin = hex_of(at, end);
  if (at == end || *at != '-') return false;
  const auto limit = hex_of(++at, end);
  if (address < begin || address >= limit) return false;
  const auto slash = line.find('/');
  if (slash != std::string_view::npos) into.mapping.set(line.substr(slash));
  return true;
}

void find_mapping(std::uint64_t address, supervise::Fatal& into) {
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  static std::array<char, 8192> buffer;  // one thread crashes: the handler was reset by then
  std::size_t kept = 0;
  bool found = false;
  while (!found) {
    const ssize_t got = ::read(file, buffer.data() + kept, buffer.size() - kept);
    if (got <= 0) break;
    std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    for (std::size_t end = 0; !found && (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      found = take_line(text.substr(0, end), address, into);
    kept = text.size() < buffer.size() ? text.size() : 0;
    std::memmove(buffer.data(), text.data(), kept);
  }
  ::close(file);
}

}  // namespace

void begin_flight(FlightSettings settings, base::RunLog& log) {
  static const supervise::RealSystem system(environment("HOLDFAST_SYSROOT").value_or(""));
  const auto around = std::make_shared<supervise::Surroundings>(system, settings.folder, settings.gpu);
  supervise::Attempt attempt = around->attempt();
  attempt.number = settings.attempt;
  attempt.supervisor = settings.supervisor;
  attempt.version.set(settings.version);
  attempt.device.set(settings.device);
  attempt.hang_seconds = settings.hang_seconds;
  supervise::RecorderOptions options;
  options.sample = [around, memory = std::move(settings.memory)](supervise::Sample& sample) {
    around->sample(sample);
    if (memory) memory(sample);
  };
  options.tick = OrphanWatch(settings.supervisor);
  const std::string stacks = settings.folder + "/" + supervise::kStacksFile;
  if (stacks.size() < stacks_path.size()) {
    stacks.copy(stacks_path.data(), stacks.size());
    stacks_known = true;
  }
  std::string why;
  recorder =
      supervise::Recorder::open(settings.folder + "/" + supervise::kRecorderFile, attempt, std::move(options), why);
  if (!recorder) log.warn(why);
  current = recorder.get();
}

void end_flight() noexcept {
  if (recorder) recorder->finish();  // it stays: the watcher's thread may just be telling it something
}

supervise::Recorder* flight() noexcept { return current.load(std::memory_order_acquire); }

std::int64_t supervisor_of_this_process() {
  static const std::int64_t pid = [] {
    const std::int64_t named = std::atoll(environment("HOLDFAST_SUPERVISOR").value_or("0").c_str());
    return named == ::getppid() ? named : 0;
  }();
  return pid;
}

void answer_stack_requests() {
  std::array<void*, 4> warm{};
  ::backtrace(warm.data(), static_cast<int>(warm.size()));  // its first call loads a library
  struct sigaction action {};
  action.sa_handler = on_stack_request;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(supervise::stack_signal(), &action, nullptr);
}

void record_fault(int signal, int code, const void* address) noexcept {
  supervise::Recorder* to = flight();
  if (to == nullptr) return;
  supervise::Fatal fault;
  fault.signal = signal;
  fault.code = code;
  fault.monotonic = supervise::monotonic_ns();
  fault.thread = ::syscall(SYS_gettid);
  fault.address = reinterpret_cast<std::uintptr_t>(address);
  const base::PluginCall running = base::running_plugin_call();
  fault.plugin.set(running.plugin);
  fault.call.set(running.call);
  if (signal == SIGBUS || signal == SIGSEGV) find_mapping(fault.address, fault);
  to->fatal(fault);
}

}  // namespace holdfast::app
