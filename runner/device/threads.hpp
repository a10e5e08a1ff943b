// How many threads compute. Knows nothing of loader threads but how to keep them out of the way.
#pragma once

namespace holdfast::device {

/// Physical cores that this process may run on (affinity mask, siblings counted once); at least 1.
int physical_cores();

/// Threads of one operator; operators themselves run one after the other. Process-wide; call before the first operator.
/// 0: physical cores.
void set_compute_threads(int threads);

/// The calling thread runs its operators alone: no second OpenMP team beside the one that trains.
void compute_alone_here();

}  // namespace holdfast::device
