// What the flight recorder costs a window of the training thread: one window() and two beat(), with samples going on.
// Prints nanoseconds; `recorder_bench MICROSECONDS` adds the share of an update that takes so long.
#include "supervise/recorder.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "supervise/surroundings.hpp"

int main(int count, char** values) {
  using namespace holdfast::supervise;
  constexpr std::int64_t kWindows = 3'000'000;
  const RealSystem system;
  Surroundings around(system, "/tmp", false);
  RecorderOptions options;
  options.sample = [&around](Sample& sample) { around.sample(sample); };
  std::string why;
  const std::string path = "/tmp/holdfast-recorder-bench-" + std::to_string(getpid());
  auto recorder = Recorder::open(path, around.attempt(), std::move(options), why);
  if (!recorder) return std::fprintf(stderr, "%s\n", why.c_str()), 1;
  const std::int64_t began = monotonic_ns();
  for (std::int64_t i = 1; i <= kWindows; ++i) {
    recorder->window(i, i, 0, 32 * i, 0.5, true);
    recorder->beat();
    recorder->beat();
  }
  const double each = static_cast<double>(monotonic_ns() - began) / static_cast<double>(kWindows);
  recorder.reset();
  unlink(path.c_str());
  std::printf("%.0f ns a window\n", each);
  if (count > 1) std::printf("%.3f %% of an update of %s us\n", each / 10 / std::atof(values[1]), values[1]);
}
