// exit and quick_exit run handlers of ours. _exit and _Exit run none: this executable defines them itself, and the
// loader asks the executable's symbols first, also for a library opened with RTLD_LOCAL (ld.so(8)).
#include "app/worker/foreign_exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/worker/parting.hpp"
#include "base/plugin_guard.hpp"
#include "holdfast/exit_code.hpp"

// Where the code of this executable lies (GNU ld's default script).
extern "C" const char __executable_start, etext;

namespace holdfast::app {
namespace {

pid_t watched = 0;  ///< 0: nobody asked for reports

[[noreturn]] void leave(int code) {
  while (true) ::syscall(SYS_exit_group, code);
}

/// Async-signal-safe: _exit may be called from a signal handler.
[[noreturn]] void refuse(std::string_view function) {
  const base::PluginCall& running = base::running_plugin_call();
  if (running.plugin.empty())
    speak({"plugin.ended_process",
           {"a library ended the process with ", function, " outside any plugin call"},
           "a thread of a plugin may have done it; report it to its author"});
  else
    speak({"plugin.ended_process",
           {"plugin '", running.plugin, "': ", running.call, " ended the process with ", function},
           "this is a fault of the plugin, not of the recipe; report it to its author"});
  leave(static_cast<int>(ExitCode::kBug));
}

bool is_watched() { return watched != 0 && watched == ::getpid(); }

bool is_own_code(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= reinterpret_cast<std::uintptr_t>(&__executable_start) && at < reinterpret_cast<std::uintptr_t>(&etext);
}

void at_exit() {
  if (is_watched()) refuse("exit()");
}

void at_quick_exit() {
  if (is_watched()) refuse("quick_exit()");
}

}  // namespace

void report_foreign_exits() {
  watched = ::getpid();
  std::atexit(at_exit);
  std::at_quick_exit(at_quick_exit);
}

/// Ends the process as the system call does, unless a library asked for it.
[[noreturn]] static void end_at_once(int code, const void* caller, std::string_view function) {
  if (is_watched() && !is_own_code(caller)) refuse(function);
  leave(code);
}

}  // namespace holdfast::app

extern "C" {
[[gnu::visibility("default")]] void _exit(int code) {
  holdfast::app::end_at_once(code, __builtin_return_address(0), "_exit()");
}
[[gnu::visibility("default")]] void _Exit(int code) noexcept {
  holdfast::app::end_at_once(code, __builtin_return_address(0), "_Exit()");
}
}
