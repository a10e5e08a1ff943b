// Which strategy wants which phase is asked once, before the run.
#include "engine/phases.hpp"

namespace holdfast::engine {

Phases::Phases(const std::vector<NamedStrategy>& strategies) {
  for (const auto& named : strategies) {
    const unsigned wanted = named.strategy->phases();
    for (std::size_t phase = 0; phase < wanting_.size(); ++phase)
      if (wanted & (1u << phase)) wanting_[phase].push_back(named.strategy);
  }
}

OpenScopes Phases::open(const std::vector<Strategy*>& wanting, const PhaseInfo& info) {
  OpenScopes scopes;
  for (Strategy* strategy : wanting)
    if (auto scope = strategy->enter(info)) scopes.add(std::move(scope));
  return scopes;
}

}  // namespace holdfast::engine
