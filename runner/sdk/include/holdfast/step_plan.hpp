// How one update is carried out, as a value: strategies and ladder rungs edit it, the engine obeys it. Torch-free.
// Every field has one owner; a second owner is a conflict that names both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {

/// A plan field and who chose it ("default", "strategy.accumulate", "memory.on_oom").
template <class T>
struct PlanField {
  T value{};
  std::string owner = "default";
};

enum class Precision { kFull, kBfloat16, kFloat16 };
enum class Placement { kDevice, kHost };

/// How the loss is scaled under fp16, where small gradients vanish and large ones overflow. A window with a gradient
/// that is not finite is dropped and the scale multiplied by backoff_factor; growth_interval applied windows in a row
/// multiply it by growth_factor. Other precisions do not scale.
struct LossScaling {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  double min_scale = 1, max_scale = 16777216;
  std::int64_t growth_interval = 2000;
};

struct StepPlan {
  PlanField<std::int64_t> micro_batch_size;        ///< samples; 0: the whole window in one micro-batch
  PlanField<Precision> precision;                  ///< arithmetic of forward and loss
  PlanField<std::vector<std::string>> recompute;   ///< segment name patterns recomputed in backward
  PlanField<std::vector<std::string>> offload;     ///< segment name patterns whose saved tensors go to the host
  PlanField<Placement> optimizer_placement;        ///< where the moments live
  PlanField<LossScaling> loss_scaling;             ///< of kFloat16
  PlanField<std::int64_t> full_precision_updates;  ///< the first updates of a run that ignore `precision`
  PlanField<std::int64_t> offload_min_bytes;       ///< smaller saved tensors stay on the device
};

struct PlanConflict {
  std::string field, first_owner, second_owner;
};

/// The only way to edit a plan: it keeps the owner of each field and collects conflicts, to be reported together.
class HOLDFAST_VISIBLE PlanEditor {
 public:
  PlanEditor(StepPlan& plan, std::string owner, std::vector<PlanConflict>& conflicts)
      : plan_(plan), owner_(std::move(owner)), conflicts_(conflicts) {}

  [[nodiscard]] const StepPlan& plan() const { return plan_; }
  [[nodiscard]] std::int64_t batch_size() const { return batch_size_; }
  void set_batch_size(std::int64_t samples) { batch_size_ = samples; }

  void micro_batch_size(std::int64_t samples) { claim("micro_batch_size", plan_.micro_batch_size, samples); }
  void precision(Precision p) { claim("precision", plan_.precision, p); }
  void recompute(std::vector<std::string> patterns) { claim("recompute", plan_.recompute, std::move(patterns)); }
  void offload(std::vector<std::string> patterns, std::int64_t min_bytes = 0) {
    if (claim("offload", plan_.offload, std::move(patterns))) plan_.offload_min_bytes = {min_bytes, owner_};
  }
  void optimizer_placement(Placement p) { claim("optimizer_placement", plan_.optimizer_placement, p); }
  void loss_scaling(LossScaling s) { claim("loss_scaling", plan_.loss_scaling, s); }
  void full_precision_updates(std::int64_t n) { claim("full_precision_updates", plan_.full_precision_updates, n); }

 private:
  template <class T>
  bool claim(const char* name, PlanField<T>& field, T value) {
    if (field.owner != "default" && field.owner != owner_) {
      conflicts_.push_back({name, field.owner, owner_});
      return false;
    }
    field.value = std::move(value);
    field.owner = owner_;
    return true;
  }
  StepPlan& plan_;
  std::string owner_;
  std::vector<PlanConflict>& conflicts_;
  std::int64_t batch_size_ = 0;
};

}  // namespace holdfast
