// The loop: window after window, and what happens at their edges.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "device/out_of_memory.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {
namespace {

std::string_view why_dropped(Fate fate) {
  switch (fate) {
    case Fate::kEmpty:
      return "empty";
    case Fate::kNonFinite:
      return "nonfinite";
    case Fate::kVetoed:
      return "vetoed";
    case Fate::kLeftOut:
      return "left_out";
    default:
      return {};
  }
}

StepResult nothing(Fate fate) { return {fate, 0, 0, -1, {}, {}}; }

}  // namespace

Outcome Trainer::Impl::run() {
  started_ = Clock::now();
  last_eval_time_ = {};
  std::optional<Error> failure;
  try {
    Outcome ended = loop();
    leave_loader();
    take_settled(true, true);
    hooks.run_end(ended.code);
    return ended;
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc& error) {
    const auto [text, hint] = device::host_shortage(error);
    failure = Error(ExitCode::kHostOutOfMemory, "memory.host", "run", text, hint);
  } catch (const std::exception& error) {
    std::string text;
    if (device::is_device_out_of_memory(error, text))
      failure = out_of_memory_outside(text);
    else
      failure = Error(ExitCode::kBug, "run.exception", "update " + std::to_string(progress.update),
                      device::sentence_of(error));
  }
  leave_loader();
  end_failed(*failure);
  throw *failure;
}

// A data set that does not return must not keep a run that was asked to stop.
void Trainer::Impl::leave_loader() {
  if (stop_asked())
    loader.leave();
  else
    loader.stop();
}

Outcome Trainer::Impl::loop() {
  const RunFacts facts{parts.settings.run_name, total_updates, loader.plan().windows_per_epoch(), progress.update};
  observer.started(facts, progress);
  hooks.run_begin(facts);
  if (finished() && !evaluation_pending_)
    return outcome(ExitCode::kOk, "the target of " + std::to_string(total_updates) + " updates was reached before");
  if (const auto dropped = loader.plan().dropped_per_epoch())
    observer.note("drop_last leaves out " + std::to_string(dropped) + " samples of each epoch");
  step.ask([this](const StepResult& result, bool finite) { return objection(result, finite); });
  model.train(true);
  const at::AutoGradMode gradients(true);
  if (evaluation_pending_) {
    Requests asked;
    if (auto ended = conclude(asked, finished())) return *std::move(ended);
  }
  start_loader();
  while (true)
    if (auto ended = window()) return *std::move(ended);
}

void Trainer::Impl::start_loader() {
  constexpr std::int64_t kEndless = std::int64_t{1} << 62;
  loader.start(progress.window, parts.settings.epochs ? total_updates : kEndless);
}

std::optional<Outcome> Trainer::Impl::window() {
  const auto asked = Clock::now();
  auto next = loader.next([this] { return stop_asked(); });
  if (!next) return abandon();
  LoadedWindow& loaded = *next;
  const bool left_out = is_left_out(loaded.window.number);
  if (!left_out) settle(loaded, "dataset.train");
  present_window_ = loaded.window.number + 1;
  const auto begun = Clock::now();
  const double learning_rate =
      plan::learning_rate(parts.settings.optimizer, parts.settings.schedule, progress.update + 1, total_updates);
  const StepResult result = left_out ? nothing(Fate::kLeftOut) : train(loaded.batch, learning_rate);
  if (result.fate == Fate::kAbandoned) return abandon();
  const WindowReport report = account(loaded, result, learning_rate);
  observer.window({report, progress.samples_seen, begun - asked, Clock::now() - begun, result.times,
                   why_dropped(result.fate), step.memory_sample()});
  return edge(report);
}

StepResult Trainer::Impl::train(const Batch& batch, double learning_rate) {
  if (batch.samples.empty()) return nothing(Fate::kEmpty);
  ladder.begin_window();
  while (true) {
    auto tried = step.run(batch, {progress.update + 1, learning_rate});
    if (auto* result = std::get_if<StepResult>(&tried)) return std::move(*result);
    recover(std::get<OomReport>(tried), static_cast<std::int64_t>(batch.samples.size()));
  }
}

void Trainer::Impl::settle(LoadedWindow& loaded, const std::string& table) {
  if (loaded.corrupt.empty()) return;
  std::vector<std::int64_t> rows;
  for (auto& [row, source, reason] : loaded.corrupt) {
    const std::int64_t index = loaded.batch.samples.at(static_cast<std::size_t>(row)).index;
    const SampleFault fault{std::move(source), index, loaded.window.epoch, std::move(reason)};
    if (hooks.corrupt_sample(fault) != FaultVerdict::kSkip)
      throw Error(ExitCode::kBadData, "data.corrupt", fault.source.empty() ? table : fault.source,
                  "sample " + std::to_string(index) + " cannot be read: " + fault.reason,
                  "repair the data, or allow a share of corrupt samples with [hook.skip_corrupt]");
    observer.sample_skipped(fault);
    rows.push_back(row);
  }
  remove_rows(loaded.batch, rows);
  if (table == "dataset.train") progress.skipped_samples += static_cast<std::int64_t>(rows.size());
}

WindowReport Trainer::Impl::account(const LoadedWindow& loaded, const StepResult& result, double learning_rate) {
  const bool applied = result.fate == Fate::kApplied;
  const std::int64_t number = progress.update + 1;  // that the window was computed as
  WindowReport report;
  report.loss_scale = loss_scale.scales(number) ? loss_scale.at(number) : 0;
  if (applied) loss_scale.applied(number);
  progress.update += applied;
  progress.no_op_windows += result.fate == Fate::kEmpty;
  progress.skipped_windows +=
      result.fate == Fate::kNonFinite || result.fate == Fate::kVetoed || result.fate == Fate::kLeftOut;
  progress.window = loaded.window.number + 1;
  progress.epoch = progress.window / loader.plan().windows_per_epoch();
  progress.samples_seen += static_cast<std::int64_t>(loaded.batch.samples.size());
  fruitless_windows_ = applied ? 0 : fruitless_windows_ + 1;
  if (result.fate == Fate::kNonFinite)
    observer.note("window " + std::to_string(progress.window) + " was dropped: its loss or a gradient is not finite" +
                  loss_scale.overflowed(number));
  if (result.fate == Fate::kVetoed)
    observer.note("window " + std::to_string(progress.window) + " was dropped: " + result.judge);
  report.update = progress.update;
  report.window = progress.window;
  report.epoch = loaded.window.epoch;
  report.epoch_end = loaded.window.epoch_end;
  report.applied = applied;
  report.last = finished();
  report.loss = result.loss;
  report.weight = result.weight;
  report.grad_norm = result.grad_norm;
  report.learning_rate = learning_rate;
  report.now = now();
  report.memory = parts.memory;
  return report;
}

bool Trainer::Impl::finished() const {
  if (parts.settings.updates) return progress.update >= *parts.settings.updates;
  return progress.window >= total_updates;
}

// A target in updates would never come if no window can be applied.
void Trainer::Impl::check_fruitful() const {
  loss_scale.check_floor(progress.update);
  constexpr std::int64_t kPatience = 1000;
  if (fruitless_windows_ < std::max(kPatience, loader.plan().windows_per_epoch())) return;
  throw Error(ExitCode::kDiverged, "run.fruitless", "update " + std::to_string(progress.update),
              "none of the last " + std::to_string(fruitless_windows_) + " windows could be applied (" +
                  std::to_string(progress.skipped_windows) + " dropped, " + std::to_string(progress.no_op_windows) +
                  " of weight 0 so far)",
              "lower optimizer.lr, or look for NaN and for labels that are all masked");
}

Outcome Trainer::Impl::outcome(ExitCode code, std::string reason) const {
  return {code, std::move(reason), progress, last_eval};
}

}  // namespace holdfast::engine
