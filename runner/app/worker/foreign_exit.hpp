// A plugin that ends the whole process. Knows nothing of how a run ends by itself: that is host/process_end.hpp.
#pragma once

namespace holdfast::app {

/// From now on a plugin (or a library it brings) that calls exit, quick_exit, _exit or _Exit in this process ends it
/// with 70 and a sentence naming the plugin call, whatever code it asked for. A child made with fork is left alone, and
/// so is the worker's own code, which ends by host::end_process or _exit. Not caught: the bare system call exit_group.
/// Once, in main, before any plugin is loaded.
void report_foreign_exits();

}  // namespace holdfast::app
