// Only async-signal-safe calls inside the handler (signal-safety(7)): _exit, what parting.hpp
// does, and reads of a thread-local.
#include "app/worker/crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "app/worker/flight.hpp"
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

bool dies_by_signal = false;

void on_crash(int number, siginfo_t* info, void*) {
  record_fault(number, info->si_code, info->si_addr);
  const base::PluginCall& running = base::running_plugin_call();
  if (running.plugin.empty())
    speak({"bug.crashed",
           {"it crashed (", name_of(number), ") outside any plugin call"},
           "this is a bug of holdfast; run again to go on, and please report it"});
  else
    speak({"plugin.crashed",
           {"plugin '", running.plugin, "': ", running.call, " crashed (", name_of(number), ")"},
           "this is a fault of the plugin, not of the recipe; report it to its author"});
  if (dies_by_signal) raise(number);  // blocked until this handler returns, and then not handled again
  if (!dies_by_signal) _exit(static_cast<int>(ExitCode::kBug));
}

}  // namespace

void report_crashes(bool keep_signal) {
  dies_by_signal = keep_signal;
  static std::array<char, kStackBytes> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace holdfast::app
