// How a process that loaded plugins ends.
#pragma once

namespace holdfast::host {

/// Flushes stdio and ends the process with `code`, without running static destructors or handlers of atexit. For the
/// last line of a main that loaded plugins: a plugin's thread may be computing with LibTorch, and LibTorch's static
/// objects dying under it would turn a finished run into a crash. Destroy what must be destroyed (logs, files, locks)
/// before.
[[noreturn]] void end_process(int code) noexcept;

}  // namespace holdfast::host
