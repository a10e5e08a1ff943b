// Hooks watch a run at fixed places and ask for actions from a closed set. They never touch the model. Torch-free.
// All calls come on the training thread, in the order of the tables in the recipe's effective form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/memory.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// What a hook may ask for. Requests of one window edge are merged; the engine acts after all hooks were heard. What is
/// asked when memory ran out is carried out at the next edge.
class HOLDFAST_VISIBLE Requests {
 public:
  void save(std::string why) { save_reason = std::move(why); }
  /// Ends the run at this edge with `code`, after a save where the code promises one (75).
  void stop(ExitCode code, std::string why) {
    if (!stop_code) stop_code = code, stop_reason = std::move(why);
  }
  /// Only in before_update(): the window is dropped whole, its update is not made.
  void skip_window(std::string why) { skip_reason = std::move(why); }
  /// In before_update() and window_end(): back to the newest checkpoint from before the last `windows` windows, the
  /// present one counted, which are then left out for good. Error 82 where there is none. `kind` is one of
  /// "nonfinite", "spike", "weights", "other".
  void rollback(std::string why, std::int64_t windows = 1, std::string kind = "other") {
    if (!rollback_reason || windows > rollback_windows) rollback_windows = windows;
    if (!rollback_reason) rollback_reason = std::move(why), rollback_kind = std::move(kind);
  }
  /// Stops like stop(75): this machine is about to be taken away. `source`: who says so, in a word.
  void preempt(std::string source, std::string why) {
    if (!preemption_source) preemption_source = std::move(source);
    stop(ExitCode::kStoppedAfterSave, std::move(why));
  }
  /// The next rung of the memory ladder that changes the plan; not when memory ran out, where one is being climbed.
  void escalate(std::string why) { escalate_reason = std::move(why); }
  void release_caches() { release = true; }

  std::optional<std::string> save_reason, skip_reason, rollback_reason, escalate_reason, preemption_source;
  std::int64_t rollback_windows = 0;
  std::string rollback_kind;
  std::optional<ExitCode> stop_code;
  std::string stop_reason;
  bool release = false;
};

struct RunFacts {
  std::string name;
  std::int64_t total_updates = 0;
  std::int64_t updates_per_epoch = 0;
  std::int64_t start_update = 0;  ///< 0, or the update resumed from
};

/// A window whose loss and gradient are known and whose update is not made yet. Where they are not finite it is dropped
/// whatever hooks say.
struct UpdateProposal {
  std::int64_t update = 0;  ///< that it would become
  std::int64_t window = 0;  ///< windows consumed, this one included
  double loss = 0;          ///< mean over the units of the window
  double grad_norm = 0;     ///< before clipping
  bool finite = true;       ///< loss and all gradients are
  double loss_scale = 0;    ///< where the loss is scaled (fp16), numbers that are not finite are part of the method
};

/// One finished window: applied, skipped (non-finite, vetoed or left out) or empty (weight 0).
struct WindowReport {
  std::int64_t update = 0;  ///< applied updates so far, this one included
  std::int64_t window = 0;  ///< windows consumed so far, dropped ones included
  std::int64_t epoch = 0;   ///< 0-based epoch of this window
  bool epoch_end = false;   ///< the window was the last of its epoch
  bool applied = false;
  bool last = false;      ///< the run's target is reached
  double loss = 0;        ///< mean over the units of the window
  double weight = 0;      ///< units
  double grad_norm = -1;  ///< before clipping; -1 where it was not computed
  double learning_rate = 0;
  double loss_scale = 0;           ///< that the window was computed with; 0 where the loss was not scaled
  Duration now{};                  ///< monotonic time since the process began training
  const Memory* memory = nullptr;  ///< for the call only; null where nobody can tell
};

struct EvalReport {
  std::int64_t update = 0;
  std::vector<std::pair<std::string, double>> scores;  ///< "loss", "accuracy", ...
};

struct SaveReport {
  std::int64_t update = 0;
  std::string path, reason;
  bool ok = false;
  Duration took{}, now{};
  bool refused = false;  ///< not ok because a weight is not finite; it is not tried again
  std::string fault{};   ///< where not ok: why, a sentence
};

/// The run went back and goes on from there.
struct RollbackReport {
  std::int64_t from_update = 0, to_update = 0;
  std::int64_t first_window = 0, windows = 0;  ///< left out from now on; first_window counts from 0
  std::string kind, reason;
};

struct OomReport {
  std::int64_t update = 0;
  std::string phase;             ///< "forward", "backward", "update", "eval"
  std::int64_t micro_batch = 0;  ///< in an evaluation: its batch
  std::string text;              ///< the allocator's words
  std::string action;            ///< what the ladder did about it
  std::string rung;              ///< by name ("halve_micro_batch"); "save": nothing was left to try
};

struct SampleFault {
  std::string source;      ///< file or shard
  std::int64_t index = 0;  ///< of the sample in the data set
  std::int64_t epoch = 0;
  std::string reason;
};
enum class FaultVerdict { kUndecided, kSkip, kFail };

class HOLDFAST_VISIBLE Hook : public Component {
 public:
  static constexpr Kind kKind = Kind::kHook;

  virtual void run_begin(const RunFacts&) {}
  virtual void window_end(const WindowReport&, Requests&) {}
  virtual void eval_end(const EvalReport&, Requests&) {}
  virtual void save_end(const SaveReport&) {}
  virtual void out_of_memory(const OomReport&, Requests&) {}
  virtual void run_end(ExitCode) {}
  /// A sample could not be read. The first hook that decides wins; undecided means fail (exit 65).
  virtual FaultVerdict corrupt_sample(const SampleFault&) { return FaultVerdict::kUndecided; }

  /// State that must survive a resume, as a JSON object; stored in the checkpoint under the hook's table name.
  virtual std::string state() const { return "{}"; }
  virtual void restore(std::string_view /*json*/) {}  ///< all that state() tells; may be called again to undo

  /// May ask for skip_window, rollback, stop (each drops the window) and save. Called again for the same window when
  /// memory runs out after it: what is decided here is counted in window_end().
  virtual void before_update(const UpdateProposal&, Requests&) {}
  /// After restore() gave back the older state.
  virtual void rolled_back(const RollbackReport&) {}
};

}  // namespace holdfast
