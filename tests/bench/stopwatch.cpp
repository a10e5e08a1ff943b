// A hook that times the run it is in: the end of the first update, and a stretch of updates. Writes one JSON object at
// the end. Only for benchmarks; reading a clock twice a run costs the loop nothing.
#include <sys/resource.h>
#include <time.h>

#include <cstdio>

#include "holdfast/hook.hpp"
#include "holdfast/plugin.hpp"

namespace {

double clock_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double monotonic() { return clock_of(CLOCK_MONOTONIC); }

class Stopwatch : public holdfast::Hook {
 public:
  static void declare(holdfast::OptionTable& options) {
    options.integer("from").required().min(1).doc("the clock runs from the end of this update");
    options.integer("to").required().min(2).doc("to the end of this one");
    options.string("output").required().doc("absolute path of the result");
  }
  Stopwatch(const holdfast::Options& options, const holdfast::Context&)
      : from_(options.integer("from")), to_(options.integer("to")), output_(options.string("output")) {}

  void window_end(const holdfast::WindowReport& report, holdfast::Requests&) override {
    last_ = report;
    if (report.update == 1) first_update_at_ = monotonic();
    if (report.update == from_) began_at_ = monotonic(), cpu_began_ = clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (report.update == to_) ended_at_ = monotonic(), cpu_ended_ = clock_of(CLOCK_THREAD_CPUTIME_ID);
  }
  void run_end(holdfast::ExitCode) override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::FILE* file = std::fopen(output_.c_str(), "w");
    if (!file)
      throw holdfast::Error(holdfast::ExitCode::kCannotCreate, "stopwatch.output", output_, "cannot be created");
    std::fprintf(file,
                 "{\"first_update_at\": %.6f, \"seconds\": %.9f, \"loop_cpu_seconds\": %.9f, \"updates\": %lld, "
                 "\"last_loss\": %.9g, "
                 "\"peak_rss_kib\": %ld}\n",
                 first_update_at_, ended_at_ - began_at_, cpu_ended_ - cpu_began_, static_cast<long long>(last_.update),
                 last_.loss, usage.ru_maxrss);
    std::fclose(file);
  }

 private:
  std::int64_t from_, to_;
  std::string output_;
  holdfast::WindowReport last_;
  double first_update_at_ = 0, began_at_ = 0, ended_at_ = 0, cpu_began_ = 0, cpu_ended_ = 0;
};

}  // namespace

HOLDFAST_PLUGIN("stopwatch", "1.0", "times a stretch of updates") {
  registrar.add<Stopwatch>("stopwatch", "times a stretch of updates, for benchmarks");
}
