// The hook "divergence_guard": notices that training goes wrong before the update is made, and asks for what the recipe
// says. It drops, restores and writes nothing itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holdfast/hook.hpp"

namespace holdfast::plugins {

/// A window is bad when its loss or a gradient is not finite (not under a loss scale, where that is part of the method
/// and the scale's own bounds end a hopeless run), or when its loss lies `threshold` spreads above the median of the
/// last `window` losses of applied updates. It never becomes an update. Weights that are not finite are bad when a save
/// was refused for them; no window can be skipped for that, so "skip" stops then. With "rollback" the first window is
/// followed by a save, so that there is always a way back.
///
/// Everything that decides is a number of the training itself and part of the state: a resumed run decides as one that
/// was never interrupted. More than `budget` interventions (within `budget_updates`, where that is given) end the run
/// with exit code 82.
class DivergenceGuard : public Hook {
 public:
  static void declare(OptionTable& options);
  DivergenceGuard(const Options& options, const Context& context);

  void before_update(const UpdateProposal& proposal, Requests& requests) override;
  void window_end(const WindowReport& report, Requests& requests) override;
  void save_end(const SaveReport& report) override;
  void rolled_back(const RollbackReport& report) override;
  [[nodiscard]] std::string state() const override;
  void restore(std::string_view json) override;

 private:
  struct Finding {
    std::string kind, what;  ///< of the catalogue's reasons; a clause
  };
  struct Place {
    std::int64_t update = 0, window = 0;
  };
  struct Intervention {
    std::int64_t update = 0;
    bool rollback = false;
    bool operator==(const Intervention&) const = default;
  };
  /// No kind: nothing is wrong.
  [[nodiscard]] Finding judge(const UpdateProposal& proposal) const;
  [[nodiscard]] Finding judge_loss(const UpdateProposal& proposal) const;
  void act(const Finding& finding, const Place& at, Requests& requests);
  [[nodiscard]] std::int64_t windows_back(std::int64_t window) const;
  [[nodiscard]] std::string what_was_tried() const;
  void forget_old(std::int64_t update);
  void trim();

  std::size_t window_, leave_out_;
  double threshold_;
  std::int64_t warmup_, budget_, budget_updates_;  ///< budget_updates_ 0: the whole run
  std::string then_;
  // The state.
  std::vector<double> losses_;                          ///< of the last applied updates, oldest first
  std::vector<std::int64_t> windows_;                   ///< of the last applied updates, oldest first
  std::map<std::int64_t, Intervention> interventions_;  ///< by window: told twice they count once
  std::int64_t first_bad_ = 0;                          ///< update; 0: none
  // Of this process.
  std::string bad_weights_;                              ///< why a save was refused, until that is acted on
  std::map<std::int64_t, Intervention> rollbacks_here_;  ///< restore() gives back a state that does not know them
  std::int64_t first_bad_here_ = 0;
  Place asked_{};  ///< of the rollback that was asked for
};

}  // namespace holdfast::plugins
