// Where every thread of another process stands, written down before it is killed for hanging. Knows no run.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <string_view>

namespace holdfast::supervise {

/// Sent to each thread of a worker: its handler appends that thread's stack to stacks.txt.
inline int stack_signal() { return SIGRTMIN + 4; }

/// Writes `path` anew: "process PID: WHY", then for each thread its name, state, kernel function and, as root, kernel
/// stack (proc(5)); then asks the threads of a process that handles stack_signal() for their own stacks, and waits at
/// most two seconds for them. At most 256 threads. What cannot be read is left out.
void dump_stacks(pid_t process, const std::string& path, std::string_view why);

}  // namespace holdfast::supervise
