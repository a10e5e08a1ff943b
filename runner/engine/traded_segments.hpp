// Segments as the plan wants them: plain, recomputed, offloaded. Knows what a forward met, not what a segment does.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/fixed_storages.hpp"
#include "engine/offload.hpp"
#include "engine/recompute.hpp"
#include "engine/segment_watch.hpp"
#include "engine/selection.hpp"
#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// One for all forwards of a step. Of the chosen segments the last before the loss is not recomputed, unless an entry
/// is its very name: its tensors would be freed and made again at once. Which one is the last, and the N largest, is
/// known from the first forward on; in that one all are recomputed that may be.
class TradedSegments : public Segments {
 public:
  /// References must outlive it. The plan may change between forwards.
  TradedSegments(const StepPlan& plan, Model& model);

  /// A forward of `batch` begins; the batch lives until its backward pass is over. The scope lasts as long as the
  /// forward: in it, what is saved outside segments is offloaded when the plan offloads everything.
  [[nodiscard]] device::SavedTensorsScope begin(const Batch& batch);
  /// It has ended. Error 78 when the plan names segments that it did not meet.
  void end();

  /// What "largest" means now, to be kept with the plan; and such of a run that is resumed: it applies where the plan
  /// has the same entries.
  [[nodiscard]] KnownSegments known() const { return {known(recompute_), known(offload_)}; }
  void recall(KnownSegments known) { recalled_ = std::move(known); }

  std::vector<at::Tensor> run_list(std::string_view name, const Function& fn, std::vector<at::Tensor> inputs) override;
  /// Lets `watch` look into every forward and backward pass from now on; null: nobody looks.
  void watch(SegmentWatch* watch) { setting_.watch = watch; }
  [[nodiscard]] SegmentWatch* watch() const { return setting_.watch; }
  /// Also in a first forward that trades nothing: it counts.
  [[nodiscard]] bool active() const override { return trades() || most_ == 0 || setting_.watch; }
  /// Outermost segments that follow one another in a forward; 0 while none has ended that recomputes as the plan says
  /// now, -1 where the model runs none.
  [[nodiscard]] std::int64_t outermost() const {
    if (!recompute_.empty() && !recompute_.learned()) return 0;
    const auto known = static_cast<std::int64_t>(recompute_.largest().size());
    return most_ == 0 && known > 0 ? known + 1 : most_;  // recalled, and there are more than those
  }

 private:
  [[nodiscard]] bool trades() const { return !recompute_.empty() || (!offload_.empty() && !offload_.everything()); }
  static LargestSegments known(const Selection& selection) {
    return selection.largest().empty() ? LargestSegments{} : LargestSegments{selection.entries(), selection.largest()};
  }
  static void follow(Selection& selection, const PlanField<std::vector<std::string>>& field, const char* what,
                     const LargestSegments& recalled);
  std::vector<at::Tensor> traded(SegmentSize& segment, Trade trade, const Function& fn, std::vector<at::Tensor> inputs);
  [[nodiscard]] bool recomputed(std::string_view name, std::int64_t place) const;
  std::vector<at::Tensor> recompute(SegmentSize& segment, const Function& fn, std::vector<at::Tensor> inputs,
                                    bool offloads);
  std::vector<at::Tensor> offload(SegmentSize& segment, const Function& fn, const std::vector<at::Tensor>& inputs);

  const StepPlan& plan_;
  FixedStorages fixed_;
  BufferStates buffers_;
  bool inside_ = false;
  std::set<std::string> verified_;
  RecomputeSetting setting_;
  Offload offloading_{fixed_};
  Selection recompute_, offload_;
  KnownSegments recalled_;
  std::deque<SegmentSize> met_;  ///< in this forward, in order
  std::string last_;             ///< the outermost segment that ended the forward before
  std::int64_t depth_ = 0, outermost_ = 0;
  std::int64_t most_ = 0;  ///< of outermost_ at an end; -1: a forward ended without any
};

}  // namespace holdfast::engine
