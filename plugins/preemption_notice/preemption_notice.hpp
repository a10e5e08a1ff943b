// The hook "preemption_notice": a machine that is about to be taken away says so in many ways; this asks for a save and
// the end in time. It looks on a thread of its own and only asks at the edges of windows.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ending.hpp"
#include "holdfast/hook.hpp"
#include "source.hpp"

namespace holdfast::plugins {

/// Looks every `every`, from the beginning of the run on, whether `file` is there, `command` succeeds or `url` answers
/// well; the first notice ends the looking and, at the next window edge, the run. A notice that already stands when the
/// run begins counts. What cannot be asked is told once and tried again. No wait for the thread is longer than one look
/// takes to be given up (some 50 ms).
class PreemptionNotice : public Hook {
 public:
  static void declare(OptionTable& options);
  PreemptionNotice(const Options& options, const Context& context);
  ~PreemptionNotice() override;
  PreemptionNotice(const PreemptionNotice&) = delete;
  PreemptionNotice& operator=(const PreemptionNotice&) = delete;

  void run_begin(const RunFacts& facts) override;
  void window_end(const WindowReport& report, Requests& requests) override;
  void run_end(ExitCode code) override;

 private:
  void watch();
  /// True when notice was given.
  bool look_at(NoticeSource& source, bool& told);
  void stop();

  Log& log_;
  Duration every_;
  std::vector<std::unique_ptr<NoticeSource>> sources_;
  Ending ending_;
  std::string source_, notice_;  ///< written before given_ is set, read after
  std::atomic<bool> given_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace holdfast::plugins
