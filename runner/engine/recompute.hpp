// A segment whose saved tensors are not kept: the backward pass runs it once more to have them. Knows no plan.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/autocast.hpp"
#include "device/random_state.hpp"
#include "device/saved_tensors.hpp"
#include "engine/buffer_states.hpp"
#include "engine/fixed_storages.hpp"
#include "engine/kept_tensor.hpp"
#include "engine/segment_watch.hpp"
#include "holdfast/model.hpp"

namespace holdfast::engine {

/// What recomputed segments of a model share. Outlives the graphs.
struct RecomputeSetting {
  const FixedStorages& fixed;
  const BufferStates& buffers;
  at::Device device;
  bool& inside;  ///< true while a segment runs that is recomputed as a whole: those inside it are plain
  std::set<std::string>& verified;  ///< names of segments whose second run was compared to the end once
  SegmentWatch* watch;              ///< told when one runs again; may be null
};

/// Saved tensors are numbered in the order of saving; the first run keeps their number, shapes and dtypes. The first
/// use by the backward pass runs the function again, from the same inputs, random numbers, autocast state and buffers,
/// and fills the numbers; each is freed with its node. The second run stops at the last number; that of a name not yet
/// verified goes to the end, and must save no more and give the same outputs, bit for bit.
/// Owned by the places in the graph: when nothing was saved, it goes with the forward.
class RecomputedSegment : public device::SavedTensors, public std::enable_shared_from_this<RecomputedSegment> {
 public:
  RecomputedSegment(const RecomputeSetting& setting, std::string name);

  /// The first run, under grad mode. Inputs are kept as `inputs_by` says; null: as aliases. Throws what `fn` throws,
  /// and Error 70 naming the segment when it cannot be run again: it changed an input or a large buffer in place.
  std::vector<at::Tensor> run(const Segments::Function& fn, std::vector<at::Tensor> inputs,
                              device::SavedTensors* inputs_by);
  [[nodiscard]] std::int64_t saved_bytes() const { return saved_bytes_; }

  std::unique_ptr<device::SavedTensor> next() override;

 private:
  friend class SegmentPlace;
  class Recorder;
  struct Slot {
    std::vector<std::int64_t> sizes;
    at::ScalarType dtype{};
    KeptTensor kept;
    bool filled = false;
  };
  struct Input {
    std::unique_ptr<device::SavedTensor> place;  ///< null: an undefined tensor
    bool requires_grad = false;
  };

  std::size_t add(const at::Tensor& tensor);
  const at::Tensor& slot(std::size_t index);
  void drop(std::size_t index) { slots_[index].kept = {}; }
  void keep_inputs(const std::vector<at::Tensor>& inputs, device::SavedTensors* inputs_by);
  [[nodiscard]] std::vector<at::Tensor> inputs_again();
  void recompute();
  void run_again();
  void record(const at::Tensor& tensor);
  void compare(const std::vector<at::Tensor>& outputs) const;
  [[noreturn]] void refuse(const std::string& what) const;

  const RecomputeSetting& setting_;
  std::string name_, where_;
  const bool verify_;
  bool running_ = false, recomputed_ = false;
  Segments::Function fn_;
  std::vector<Input> inputs_;
  std::vector<KeptTensor> outputs_;  ///< of the first run, to compare with
  device::RandomState random_;
  device::AutocastState autocast_;
  BufferStates::Copies buffers_;
  std::vector<Slot> slots_;
  std::size_t recorded_ = 0;
  std::int64_t saved_bytes_ = 0;
};

}  // namespace holdfast::engine
