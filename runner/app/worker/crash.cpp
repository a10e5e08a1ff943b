// Only async-signal-safe calls inside the handler (signal-safety(7)): _exit, what parting.hpp
// does, and reads of a thread-local.
#include "app/worker/crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "app/worker/parting.hpp"
#include "base/plugin_guard.hpp"
#include "holdfast/exit_code.hpp"

namespace holdfast::app {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr std::size_t kStackBytes = 64 * 1024;

std::string_view name_of(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS";
    default:
      return "SIGABRT";
  }
}

void on_crash(int number) {
  const base::PluginCall& running = base::running_plugin_call();
  if (running.plugin.empty())
    speak({"bug.crashed",
           {"it crashed (", name_of(number), ") outside any plugin call"},
           "this is a bug of holdfast; run again to go on, and please report it"});
  else
    speak({"plugin.crashed",
           {"plugin '", running.plugin, "': ", running.call, " crashed (", name_of(number), ")"},
           "this is a fault of the plugin, not of the recipe; report it to its author"});
  _exit(static_cast<int>(ExitCode::kBug));
}

}  // namespace

void report_crashes() {
  static std::array<char, kStackBytes> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace holdfast::app
