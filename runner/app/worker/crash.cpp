// Only async-signal-safe calls inside the handler (signal-safety(7)): write, _exit, and reads of a thread-local.
#include "app/worker/crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "base/plugin_guard.hpp"
#include "holdfast/exit_code.hpp"

namespace holdfast::app {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr std::size_t kStackBytes = 64 * 1024;

void put(std::string_view text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

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
  if (running.plugin.empty()) {
    put("\nholdfast: error[bug.crashed]: it crashed (");
    put(name_of(number));
    put(") outside any plugin call\n  hint: this is a bug of holdfast; run again to go on, and please report it\n");
  } else {
    put("\nholdfast: error[plugin.crashed]: plugin '");
    put(running.plugin);
    put("': ");
    put(running.call);
    put(" crashed (");
    put(name_of(number));
    put(")\n  hint: this is a fault of the plugin, not of the recipe; report it to its author\n");
  }
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
