// Plain copies into memory that was allocated once.
#include "engine/snapshot.hpp"

#include <ATen/ATen.h>

namespace holdfast::engine {

Snapshot::Snapshot(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    originals_.push_back(tensor.detach());
    copies_.push_back(at::empty_like(originals_.back()));
  }
}

void Snapshot::take() {
  for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i].copy_(originals_[i]);
}

void Snapshot::restore() {
  for (std::size_t i = 0; i < copies_.size(); ++i) originals_[i].copy_(copies_[i]);
}

}  // namespace holdfast::engine
