// A model's buffers as a segment found them, and put back after it ran again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/tensor.hpp"

namespace holdfast::engine {

/// Small buffers (running statistics) are copied at each segment: batch_norm writes them without raising their version.
/// Larger ones (frozen weights, for most) are only watched.
class BufferStates {
 public:
  static constexpr std::int64_t kSmall = 65536;  ///< values

  explicit BufferStates(const NamedTensors& buffers);

  using Copies = std::vector<at::Tensor>;
  /// Copies of the small ones, on the host's account.
  [[nodiscard]] Copies take() const;
  /// Versions of the large ones.
  [[nodiscard]] std::vector<std::int64_t> versions() const;
  /// The name of a large one that changed since; empty when none did.
  [[nodiscard]] std::string changed_since(const std::vector<std::int64_t>& versions) const;

  /// Small buffers are `first` inside, and what they were, versions included, afterwards.
  class Scope {
   public:
    Scope(const BufferStates& buffers, const Copies& first);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const BufferStates& buffers_;
    Copies before_;
    std::vector<std::int64_t> versions_;
  };

 private:
  void put(const Copies& copies) const;

  std::vector<at::Tensor> small_;
  NamedTensors large_;
};

}  // namespace holdfast::engine
