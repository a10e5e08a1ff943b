// Scopes of strategies around the phases of an update. Knows order, not content.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/trainer.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::engine {

/// Scopes that are open; closes them in reverse order of opening, however it is left.
class OpenScopes {
 public:
  OpenScopes() = default;
  OpenScopes(OpenScopes&&) noexcept = default;
  OpenScopes& operator=(OpenScopes&&) = delete;
  ~OpenScopes() {
    while (!scopes_.empty()) scopes_.pop_back();
  }
  void add(std::unique_ptr<Scope> scope) { scopes_.push_back(std::move(scope)); }

 private:
  std::vector<std::unique_ptr<Scope>> scopes_;
};

class Phases {
 public:
  explicit Phases(const std::vector<NamedStrategy>& strategies);
  /// Opens what strategies want of this phase, in their order. When one throws, those opened before are closed.
  [[nodiscard]] OpenScopes enter(const PhaseInfo& info) const {
    const auto& wanting = wanting_[static_cast<std::size_t>(info.phase)];
    return wanting.empty() ? OpenScopes() : open(wanting, info);
  }

 private:
  static OpenScopes open(const std::vector<Strategy*>& wanting, const PhaseInfo& info);
  std::array<std::vector<Strategy*>, 5> wanting_;
};

}  // namespace holdfast::engine
