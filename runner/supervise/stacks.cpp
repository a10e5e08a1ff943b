// proc(5): task/TID/{comm,stat,wchan,syscall,stack}.
#include "supervise/stacks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/folder.hpp"
#include "base/text.hpp"
#include "supervise/memory_group.hpp"
#include "supervise/system.hpp"

namespace holdfast::supervise {
namespace {

constexpr std::size_t kMostThreads = 256;
constexpr int kWaits = 100;  // of 20 ms

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  DIR* folder = ::opendir(("/proc/" + std::to_string(process) + "/task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = ::readdir(folder))
    if (const int thread = std::atoi(entry->d_name); thread > 0 && threads.size() < kMostThreads)
      threads.push_back(thread);
  ::closedir(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::string state_of(const std::string& status) {
  const auto at = status.find("State:\t");
  return at == std::string::npos ? "gone" : first_line(status.substr(at + 7));
}

std::string thread_text(const RealSystem& system, pid_t process, pid_t thread) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
  const auto name = system.text(folder + "/comm", 64), status = system.text(folder + "/status", 8192);
  const auto place = system.text(folder + "/wchan", 128), call = system.text(folder + "/syscall", 256);
  std::string text = "thread " + std::to_string(thread) + " " + base::terminal_safe_line(first_line(name.value)) +
                     ": " + state_of(status.value);
  if (place && place.value != "0" && !place.value.empty()) text += ", in " + base::terminal_safe_line(place.value);
  if (call) text += ", system call " + base::terminal_safe_line(first_line(call.value));
  text += "\n";
  if (const auto stack = system.text(folder + "/stack", 8192))
    for (std::size_t at = 0; at < stack.value.size();) {
      const auto end = std::min(stack.value.find('\n', at), stack.value.size());
      text += "    " + base::terminal_safe_line(stack.value.substr(at, end - at)) + "\n";
      at = end + 1;
    }
  return text;
}

/// "SigCgt" of proc(5) is a mask in hexadecimal. A signal without a handler would end the process at once.
bool answers(const RealSystem& system, pid_t process) {
  const auto status = system.text("/proc/" + std::to_string(process) + "/status", 8192);
  const auto at = status.value.find("SigCgt:\t");
  if (at == std::string::npos || state_of(status.value).starts_with("T")) return false;
  const std::uint64_t caught = std::strtoull(status.value.c_str() + at + 8, nullptr, 16);
  return ((caught >> (stack_signal() - 1)) & 1) != 0;
}

std::int64_t size_of(int file) {
  struct stat info {};
  return ::fstat(file, &info) == 0 ? info.st_size : 0;
}

void ask_threads(pid_t process, const std::vector<pid_t>& threads, int file) {
  for (const pid_t thread : threads) ::syscall(SYS_tgkill, process, thread, stack_signal());
  const timespec pause{0, 20'000'000};
  std::int64_t size = -1;
  for (int i = 0; i < kWaits; ++i) {  // until nothing was added for a while
    ::nanosleep(&pause, nullptr);
    const std::int64_t now = size_of(file);
    if (now == size && i % 10 == 9) return;
    if (i % 10 == 9) size = now;
  }
}

}  // namespace

void dump_stacks(pid_t process, const std::string& path, std::string_view why) {
  ::unlink(path.c_str());
  const base::File file = base::open_regular(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  if (file.fd() < 0) return;
  const RealSystem system;
  const auto threads = threads_of(process);
  std::string text = "process " + std::to_string(process) + " " + std::string(why) + "\n";
  for (const pid_t thread : threads) text += thread_text(system, process, thread);
  (void)!::write(file.fd(), text.data(), text.size());
  if (answers(system, process)) ask_threads(process, threads, file.fd());
}

}  // namespace holdfast::supervise
