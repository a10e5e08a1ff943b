// One update after the other.
#include "engine/update_series.hpp"

#include <ATen/ATen.h>

namespace holdfast::engine {
namespace {

Shortage shortage_of(const OomReport& report, const std::string& segment) {
  return {report.phase + " of update " + std::to_string(report.update) + ", micro-batch " +
              std::to_string(report.micro_batch) + (segment.empty() ? "" : ", segment '" + segment + "'"),
          report.text};
}

}  // namespace

void UpdateSeries::run(std::int64_t updates) {
  bool going = next(/*stock=*/true, /*time=*/false);
  for (std::int64_t i = 1; going && i < updates; ++i) going = next(/*stock=*/false, /*time=*/true);
  if (going) next(/*stock=*/true, /*time=*/false);
}

bool UpdateSeries::next(bool stock, bool time) {
  recorder_.clear();
  recorder_.take_stock(stock);
  phases_.clear();
  const MeasuredUpdate done = update_();
  const auto& traces = recorder_.traces();
  if (done.shortage) {
    const bool between = done.shortage->phase != "forward" && done.shortage->phase != "backward";
    shortage_ = shortage_of(*done.shortage, between ? "" : recorder_.place());
    recorder_.abandon();
  }
  if (stock || done.shortage) {
    // What broke off tells less than an update that was looked at before, but of phases that came further.
    if (looked_.empty() || !done.shortage) looked_ = traces;
    if (figures_.empty() || !done.shortage) figures_ = phases_.figures();
  }
  if (time && !done.shortage) {
    timed_.push_back(done);
    traces_.insert(traces_.end(), traces.begin(), traces.end());
  }
  return !done.shortage;
}

}  // namespace holdfast::engine
