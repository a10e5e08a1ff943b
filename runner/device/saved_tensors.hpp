// What becomes of the tensors that autograd saves for the backward pass. Knows no segments and no training.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace holdfast::device {

/// The place of one saved tensor in the graph. Goes with its node: at the latest when the graph is freed.
class SavedTensor {
 public:
  virtual ~SavedTensor() = default;
  /// Called once, where the tensor is saved, without grad mode. `tensor` may be the output of the very node that saves
  /// it: keep no more than tensor.detach(), or the graph holds itself.
  virtual void keep(const at::Tensor& tensor) = 0;
  /// The same numbers, at each use by the backward pass. Autograd does not compare versions of what comes from here: an
  /// alias that changed meanwhile must be found here.
  virtual at::Tensor give() = 0;

  // For those who count, after keep().
  enum class Where { kDevice, kHost, kNowhere };  ///< kNowhere: it will be computed again
  [[nodiscard]] virtual Where where() const { return Where::kDevice; }
  /// Taken from the host domain for this tensor alone; 0 where another place has the same copy.
  [[nodiscard]] virtual std::int64_t host_bytes() const { return 0; }
};

class SavedTensors {
 public:
  virtual ~SavedTensors() = default;
  /// Null: autograd keeps this one itself.
  virtual std::unique_ptr<SavedTensor> next() = 0;
};

/// Sees every tensor that operations of the calling thread save, whoever keeps it.
class SavedTensorsWatch {
 public:
  virtual ~SavedTensorsWatch() = default;
  /// A place for a tensor that autograd would have kept itself.
  virtual std::unique_ptr<SavedTensor> plain() = 0;
  /// `tensor` was kept in `place`, this moment. May throw.
  virtual void saw(const at::Tensor& tensor, const SavedTensor& place) = 0;
};

/// Until it ends, `watch` sees what the calling thread saves. At most one at a time.
class SavedTensorsWatchScope {
 public:
  explicit SavedTensorsWatchScope(SavedTensorsWatch& watch);
  ~SavedTensorsWatchScope();
  SavedTensorsWatchScope(const SavedTensorsWatchScope&) = delete;
  SavedTensorsWatchScope& operator=(const SavedTensorsWatchScope&) = delete;
};

/// Keeps a tensor that no operation saves, and lets the watch see it.
void keep_watched(const at::Tensor& tensor, SavedTensor& place);

/// Until it ends, what operations of the calling thread save goes to `saved`; null: autograd keeps all. Scopes nest,
/// the inner one alone is asked. The first scope of a process makes a subclass of autograd's engine the engine
/// (LibTorch has no other entry in C++); no backward pass may run at that moment.
class SavedTensorsScope {
 public:
  explicit SavedTensorsScope(SavedTensors* saved);
  ~SavedTensorsScope();
  SavedTensorsScope(const SavedTensorsScope&) = delete;
  SavedTensorsScope& operator=(const SavedTensorsScope&) = delete;

 private:
  SavedTensors* before_;
};

/// Sets how often `tensor`, and every alias of it that shares its counter, was changed in place: for one who put its
/// content back.
void set_version(const at::Tensor& tensor, std::uint32_t version);

}  // namespace holdfast::device
