// What is wrong, what is done about it, and when it is enough.
#include "divergence_guard.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "spread.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::size_t kFewest = 8;  // losses, before one can be called a spike

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string counted(std::int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace

void DivergenceGuard::declare(OptionTable& options) {
  options.integer("window", 100)
      .min(static_cast<double>(kFewest))
      .max(100'000)
      .doc("losses of the last applied updates that a new one is compared with");
  options.number("threshold", 10)
      .above(0)
      .doc("spreads (1.4826 x the median absolute deviation) above their median at which a loss is a spike");
  options.integer("warmup_updates", 100)
      .min(0)
      .doc(
          "updates before losses are judged; numbers that are not finite are "
          "judged from the first on");
  options.string("then", "skip")
      .one_of({"skip", "rollback", "stop"})
      .doc(
          "what is done about a bad window: leave it out, go back to the last good checkpoint, or end with exit code "
          "82");
  options.integer("leave_out", 2)
      .min(1)
      .max(10'000)
      .doc("for rollback: windows that are left out then, the bad one and those whose updates led to it");
  options.integer("budget", 3).min(0).doc("interventions; the next one ends the run with exit code 82");
  options.integer("budget_updates").min(1).doc("updates that the budget is for; absent: the whole run");
}

DivergenceGuard::DivergenceGuard(const Options& options, const Context& /*context*/)
    : window_(static_cast<std::size_t>(options.integer("window"))),
      leave_out_(static_cast<std::size_t>(options.integer("leave_out"))),
      threshold_(options.number("threshold")),
      warmup_(options.integer("warmup_updates")),
      budget_(options.integer("budget")),
      budget_updates_(options.has("budget_updates") ? options.integer("budget_updates") : 0),
      then_(options.string("then")) {}

DivergenceGuard::Finding DivergenceGuard::judge(const UpdateProposal& proposal) const {
  if (proposal.finite) return judge_loss(proposal);
  if (proposal.loss_scale > 0) return {};
  if (!std::isfinite(proposal.loss))
    return {"nonfinite", "the loss of window " + std::to_string(proposal.window) + " is " + text_of(proposal.loss) +
                             ", where a finite number is needed"};
  return {"nonfinite", "a gradient of window " + std::to_string(proposal.window) + " is not finite (norm " +
                           text_of(proposal.grad_norm) + ", loss " + text_of(proposal.loss) + ")"};
}

DivergenceGuard::Finding DivergenceGuard::judge_loss(const UpdateProposal& proposal) const {
  if (proposal.update <= warmup_ || losses_.size() < kFewest) return {};
  const Spread spread = spread_of(losses_);
  const double above = spread.above(proposal.loss);
  if (above < threshold_) return {};
  return {"spike", "the loss of window " + std::to_string(proposal.window) + " is " + text_of(proposal.loss) + ", " +
                       text_of(above) + " spreads above the median " + text_of(spread.median) + " of the last " +
                       std::to_string(losses_.size()) + " losses (threshold " + text_of(threshold_) + ")"};
}

void DivergenceGuard::before_update(const UpdateProposal& proposal, Requests& requests) {
  const Finding finding = judge(proposal);
  if (!finding.kind.empty()) act(finding, {proposal.update, proposal.window}, requests);
}

void DivergenceGuard::window_end(const WindowReport& report, Requests& requests) {
  if (report.applied) {
    losses_.push_back(report.loss);
    windows_.push_back(report.window);
    trim();
    forget_old(report.update);
  }
  if (then_ == "rollback" && report.window == 1) requests.save("divergence_guard");  // there is always a way back
  if (!bad_weights_.empty())
    act({"weights", std::exchange(bad_weights_, {})}, {report.update, report.window}, requests);
}

void DivergenceGuard::save_end(const SaveReport& report) {
  if (report.refused) bad_weights_ = report.fault;
}

void DivergenceGuard::act(const Finding& finding, const Place& at, Requests& requests) {
  if (first_bad_ == 0) first_bad_ = at.update;
  first_bad_here_ = first_bad_;
  forget_old(at.update);
  const std::string found = "update " + std::to_string(at.update) + ": " + finding.what;
  const bool spent = static_cast<std::int64_t>(interventions_.size()) >= budget_;
  const bool hopeless = then_ == "skip" && finding.kind == "weights";
  if (then_ == "stop" || spent || hopeless) {
    const std::string why = hopeless ? "no window can be skipped for that" : then_ == "stop" ? "" : what_was_tried();
    requests.save("diverged");
    requests.stop(ExitCode::kDiverged, "divergence guard: " + found + (why.empty() ? "" : "; " + why) +
                                           "; the first bad update was " + std::to_string(first_bad_) +
                                           "; lower optimizer.lr, set train.clip_grad_norm or look at the samples of "
                                           "that window, then run again");
    return;
  }
  if (then_ == "skip") {
    interventions_[at.window] = {at.update, false};
    requests.skip_window(found);
    return;
  }
  asked_ = at;
  requests.rollback("divergence guard: " + found, windows_back(at.window), finding.kind);
}

// The bad window, and `leave_out` - 1 applied ones before it with all between. One that was applied itself counts among
// those.
std::int64_t DivergenceGuard::windows_back(std::int64_t window) const {
  std::size_t more = leave_out_ - 1;
  if (!windows_.empty() && windows_.back() == window) ++more;
  if (more == 0 || windows_.empty()) return 1;
  return window - windows_[windows_.size() - std::min(more, windows_.size())] + 1;
}

std::string DivergenceGuard::what_was_tried() const {
  const auto rollbacks = std::ranges::count_if(interventions_, [](const auto& entry) { return entry.second.rollback; });
  const auto skipped = static_cast<std::int64_t>(interventions_.size()) - rollbacks;
  std::string tried;
  if (skipped > 0) tried += counted(skipped, "window") + " skipped";
  if (rollbacks > 0) tried += (tried.empty() ? "" : " and ") + counted(rollbacks, "rollback");
  return (tried.empty() ? "nothing was tried" : tried) + ", and the budget of " + counted(budget_, "intervention") +
         (budget_updates_ > 0 ? " in " + counted(budget_updates_, "update") : " in a run") + " is used up";
}

void DivergenceGuard::rolled_back(const RollbackReport& report) {
  bad_weights_.clear();
  if (asked_.window > 0) rollbacks_here_[asked_.window] = {asked_.update, true};
  asked_ = {};
  interventions_.insert(rollbacks_here_.begin(), rollbacks_here_.end());
  if (first_bad_ == 0) first_bad_ = first_bad_here_;
  forget_old(report.from_update);
}

void DivergenceGuard::forget_old(std::int64_t update) {
  if (budget_updates_ == 0) return;
  const auto old = [&](const auto& entry) { return entry.second.update <= update - budget_updates_; };
  std::erase_if(interventions_, old);
  std::erase_if(rollbacks_here_, old);
}

void DivergenceGuard::trim() {
  const auto keep_last = [](auto& list, std::size_t most) {
    if (list.size() > most) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
  };
  keep_last(losses_, window_);
  keep_last(windows_, leave_out_);
}

std::string DivergenceGuard::state() const {
  nlohmann::json interventions = nlohmann::json::array();
  for (const auto& [window, made] : interventions_)
    interventions.push_back({window, made.update, made.rollback ? 1 : 0});
  return nlohmann::json{{"losses", losses_},
                        {"windows", windows_},
                        {"interventions", std::move(interventions)},
                        {"first_bad", first_bad_}}
      .dump();
}

void DivergenceGuard::restore(std::string_view text) {
  std::vector<double> losses;
  std::vector<std::int64_t> windows;
  std::map<std::int64_t, Intervention> interventions;
  std::int64_t first_bad = 0;
  try {
    const auto object = nlohmann::json::parse(text);
    losses = object.value("losses", losses);
    windows = object.value("windows", windows);
    first_bad = object.value("first_bad", first_bad);
    const auto made = object.value("interventions", std::vector<std::vector<std::int64_t>>{});
    for (const auto& entry : made) interventions[entry.at(0)] = {entry.at(1), entry.at(2) != 0};
  } catch (const std::exception& fault) {
    throw Error(ExitCode::kMissingInput, "divergence_guard.state", "",
                std::string("its losses, windows or interventions cannot be read: ") + fault.what());
  }
  losses_ = std::move(losses);
  windows_ = std::move(windows);
  interventions_ = std::move(interventions);
  first_bad_ = first_bad;
  trim();
}

}  // namespace holdfast::plugins
