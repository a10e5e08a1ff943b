// A crash becomes one sentence and exit 70 with the plugin's name, instead of a bare death by signal.
#pragma once

namespace holdfast::app {

/// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT for the whole process, on a stack of its own for the calling
/// thread: prints which plugin call was running in the crashed thread and leaves with _exit(70); with
/// `keep_signal` (for a supervisor, and for core files) it then dies by the signal. The run's recorder keeps the fault.
void report_crashes(bool keep_signal);

}  // namespace holdfast::app
