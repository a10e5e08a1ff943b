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

struct StepPlan {
  PlanField<std::int64_t> micro_batch_size;       ///< samples; 0: the whole window in one micro-batch
  PlanField<Precision> precision;                 ///< arithmetic of forward and loss
  PlanField<std::vector<std::string>> recompute;  ///< segment name patterns recomputed in backward
  PlanField<std::vector<std::string>> offload;    ///< segment name patterns whose saved tensors go to the host
  PlanField<Placement> optimizer_placement;       ///< where the moments live
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
  void offload(std::vector<std::string> patterns) { claim("offload", plan_.offload, std::move(patterns)); }
  void optimizer_placement(Placement p) { claim("optimizer_placement", plan_.optimizer_placement, p); }

 private:
  template <class T>
  void claim(const char* name, PlanField<T>& field, T value) {
    if (field.owner != "default" && field.owner != owner_) {
      conflicts_.push_back({name, field.owner, owner_});
      return;
    }
    field.value = std::move(value);
    field.owner = owner_;
  }
  StepPlan& plan_;
  std::string owner_;
  std::vector<PlanConflict>& conflicts_;
  std::int64_t batch_size_ = 0;
};

}  // namespace holdfast
