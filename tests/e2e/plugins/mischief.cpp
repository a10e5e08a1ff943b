// A hook that does what goes wrong in practice, on demand: slow windows, a crash, an exception, at a given update.
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "holdfast/hook.hpp"
#include "holdfast/plugin.hpp"

namespace {

class Mischief : public holdfast::Hook {
 public:
  static void declare(holdfast::OptionTable& options) {
    options.string("action", "none")
        .one_of({"none", "segfault", "abort", "throw", "diverge"})
        .doc("What happens at the update.");
    options.integer("at_update", 0).doc("Applied updates before it happens.");
    options.duration("slow", holdfast::Duration{}).doc("Added to every window.");
  }
  Mischief(const holdfast::Options& options, const holdfast::Context&)
      : action_(options.string("action")), at_update_(options.integer("at_update")), slow_(options.duration("slow")) {}

  void window_end(const holdfast::WindowReport& report, holdfast::Requests& requests) override {
    std::this_thread::sleep_for(slow_);
    if (report.update != at_update_) return;
    if (action_ == "segfault") std::raise(SIGSEGV);
    if (action_ == "abort") std::abort();
    if (action_ == "throw") throw std::runtime_error("mischief was asked for");
    if (action_ == "diverge") requests.stop(holdfast::ExitCode::kDiverged, "the loss went away");
  }

 private:
  std::string action_;
  std::int64_t at_update_;
  holdfast::Duration slow_;
};

}  // namespace

HOLDFAST_PLUGIN("mischief", "1.0.0", "faults on demand, for tests") {
  registrar.add<Mischief>("mischief", "slows, crashes or throws at a given update");
}
