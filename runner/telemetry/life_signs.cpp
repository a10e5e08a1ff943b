// Turns happenings into status, events and lines. Rates are measured between beats; the first beat comes at once.
#include "telemetry/life_signs.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "telemetry/last_words.hpp"
#include "telemetry/memory_figure.hpp"
#include "telemetry/progress_line.hpp"
#include "telemetry/quantity.hpp"

namespace holdfast::telemetry {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(30);
constexpr std::int64_t kSkipLines = 10;  ///< skips told one by one; later ones are only counted
constexpr double kLeastSpan = 0.05;      ///< seconds; shorter spans give no rate
constexpr double kRateMemory = 0.7;      ///< share of the old rate kept at each beat: steadies the time left

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string scores_text(const std::vector<std::pair<std::string, double>>& scores) {
  std::string text;
  for (const auto& [name, value] : scores) text += (text.empty() ? "" : ", ") + name + " " + number_text(value);
  return text;
}

std::string state_of(ExitCode code) {
  if (code == ExitCode::kOk) return "finished";
  return code == ExitCode::kStoppedAfterSave ? "stopped" : "failed";
}

}  // namespace

LifeSigns::LifeSigns(LifeSignsSettings settings)
    : settings_(std::move(settings)),
      clock_(settings_.clock ? *settings_.clock : base::Clock::real()),
      events_(settings_.folder + "/events.jsonl", settings_.attempt),
      console_(settings_.console_file) {
  if (const auto before = read_status(settings_.folder)) status_ = *before;
  status_.run = settings_.run;
  status_.generation = settings_.generation;
  status_.state = "running";
  status_.attempt = settings_.attempt;
  status_.pid = getpid();
  status_.exit_code.reset();
  status_.cause.clear();
  status_.ended_at.clear();
  status_.metrics_url = settings_.metrics_url;
  status_.attempt_at = time();
  if (status_.started_at.empty()) status_.started_at = status_.attempt_at;
  if (settings_.console == ConsoleMode::kBar) settings_.log->before_line([this] { console_.erase(); });
}

LifeSigns::~LifeSigns() { settings_.log->before_line({}); }

std::string LifeSigns::time() const { return base::rfc3339_utc(clock_.wall()); }

void LifeSigns::event(std::string_view name, const EventFields& fields) {
  if (events_.append(time(), name, fields) || told_lost_) return;
  told_lost_ = true;
  settings_.log->warn("events.jsonl cannot be written (" + events_.failure() +
                      "); training goes on, lost events are counted");
}

void LifeSigns::publish() {
  status_.updated_at = time();
  write_status(settings_.folder, status_);
  prepare_last_words(settings_.folder, status_);
}

void LifeSigns::started(const StartFacts& facts) {
  status_.update = facts.update;
  status_.epoch = facts.epoch;
  status_.samples_seen = samples_seen_ = facts.samples_seen;
  status_.total_updates = facts.total_updates;
  status_.updates_per_epoch = facts.updates_per_epoch;
  last_.update = beat_update_ = facts.update;
  last_.epoch = facts.epoch;
  next_line_ = kLineEvery;
  EventFields fields = {{"update", facts.update},
                        {"epoch", facts.epoch},
                        {"samples_seen", facts.samples_seen},
                        {"total_updates", facts.total_updates},
                        {"pid", static_cast<std::int64_t>(getpid())}};
  if (!facts.from.empty()) fields.emplace_back("from", facts.from);
  fields.insert(fields.end(), settings_.facts.begin(), settings_.facts.end());
  event(facts.from.empty() ? "start" : "resume", fields);
  publish();
  show(true);
}

double LifeSigns::fresh_rate() const {
  const double passed = seconds(last_.now - beat_at_);
  // The first window warms up caches and threads: it says nothing about those that follow.
  if (passed < kLeastSpan || beat_at_ == Duration{}) return 0;
  return static_cast<double>(last_.update - beat_update_) / passed;
}

void LifeSigns::beat(Duration now) {
  const double fresh = fresh_rate();
  rate_ = rate_ > 0 ? kRateMemory * rate_ + (1 - kRateMemory) * fresh : fresh;
  beat_at_ = now;
  beat_update_ = last_.update;
  next_beat_ = now + settings_.every;
  status_.update = last_.update;
  status_.epoch = last_.epoch + (last_.epoch_end ? 1 : 0);
  status_.samples_seen = samples_seen_;
  if (rate_ > 0) status_.updates_per_second = rate_;
  const auto applied = static_cast<double>(sums_.applied);
  EventFields fields = {{"update", last_.update}, {"epoch", last_.epoch}, {"windows", sums_.windows}};
  if (sums_.applied > 0) {
    status_.loss = sums_.loss / applied;
    fields.emplace_back("loss", *status_.loss);
    if (last_.grad_norm >= 0) fields.emplace_back("grad_norm", sums_.grad_norm / applied);
  }
  fields.emplace_back("learning_rate", last_.learning_rate);
  if (last_.loss_scale > 0) fields.emplace_back("loss_scale", last_.loss_scale);
  if (rate_ > 0) fields.emplace_back("updates_per_second", rate_);
  add_memory(fields);
  add_times(fields);
  sums_ = {};
  event("update", fields);
  publish();
  show(now < next_line_);
  if (now >= next_line_) next_line_ = now + kLineEvery;
}

void LifeSigns::add_times(EventFields& fields) const {
  fields.emplace_back("data_wait_seconds", seconds(sums_.data));
  fields.emplace_back("forward_seconds", seconds(sums_.forward));
  fields.emplace_back("backward_seconds", seconds(sums_.backward));
  fields.emplace_back("optimizer_seconds", seconds(sums_.optimizer));
  fields.emplace_back("slowest_seconds", seconds(sums_.slowest));
}

void LifeSigns::add_memory(EventFields& fields) const {
  if (sums_.peak > 0) {
    fields.emplace_back("memory_allocated", sums_.allocated);
    fields.emplace_back("memory_peak", sums_.peak);
    fields.emplace_back("memory_reserved", sums_.reserved);
  }
  if (const std::int64_t resident = resident_bytes(); resident > 0) fields.emplace_back("resident_bytes", resident);
}

void LifeSigns::show(bool redraw_only) {
  if (settings_.console == ConsoleMode::kSilent) return;
  if (settings_.console == ConsoleMode::kLines && redraw_only) return;
  Snapshot at;
  at.run = settings_.run;
  at.update = last_.update;
  at.total = status_.total_updates;
  at.epoch = last_.epoch;
  at.epochs = settings_.epochs;
  at.loss = sums_.applied > 0 ? sums_.loss / static_cast<double>(sums_.applied) : status_.loss;
  at.updates_per_second = rate_ > 0 ? rate_ : fresh_rate();
  at.memory_bytes = resident_bytes();
  if (settings_.console == ConsoleMode::kBar)
    console_.draw(progress_bar(at, console_.width()));
  else
    settings_.log->info(progress_sentence(at));
}

void LifeSigns::dropped(const WindowReport& report) {
  status_.skipped_windows += 1;
  EventFields fields = {{"what", std::string("window")},
                        {"update", report.update},
                        {"window", report.window},
                        {"loss", report.loss},
                        {"weight", report.weight}};
  if (report.loss_scale > 0) fields.emplace_back("loss_scale", report.loss_scale);
  event("skip", fields);
}

void LifeSigns::evaluated(const EvalReport& report, bool best) {
  status_.scores = report.scores;
  status_.update = std::max(status_.update, report.update);
  if (best) {
    status_.best_update = report.update;
    for (const auto& [name, value] : report.scores)
      if (name == settings_.best_metric) status_.best_metric = value;
  }
  EventFields fields = {{"update", report.update}, {"best", best}};
  for (const auto& [name, value] : report.scores) fields.emplace_back(name, value);
  event("eval", fields);
  settings_.log->info("evaluated at update " + std::to_string(report.update) + ": " + scores_text(report.scores) +
                      (best ? " (best so far)" : ""));
  show(true);
}

void LifeSigns::saved(const SaveReport& report) {
  tell_missed();
  EventFields fields = {{"update", report.update},
                        {"path", report.path},
                        {"reason", report.reason},
                        {"ok", report.ok},
                        {"seconds", seconds(report.took)}};
  if (!report.fault.empty()) fields.emplace_back("fault", report.fault);
  event("checkpoint", fields);
  if (!report.ok && !report.refused)
    settings_.log->warn("the checkpoint of update " + std::to_string(report.update) +
                        " could not be written; the older ones stay");
}

void LifeSigns::save_missed(std::int64_t update, std::string_view reason) {
  ++missed_saves_;
  if (missed_at_ < 0) {
    missed_at_ = update;
    missed_why_ = reason;
  }
  if (missed_saves_ == 1)
    settings_.log->info("the checkpoint of update " + std::to_string(update) +
                        " is left out: the one before is still being written (further ones are only counted)");
}

void LifeSigns::tell_missed() {
  if (missed_at_ < 0) return;
  event("skip", {{"what", std::string("checkpoint")},
                 {"update", missed_at_},
                 {"reason", missed_why_},
                 {"missed", missed_saves_}});
  missed_at_ = -1;
}

void LifeSigns::out_of_memory(const OomReport& report) {
  event("oom", {{"update", report.update},
                {"phase", report.phase},
                {"micro_batch", report.micro_batch},
                {"text", report.text},
                {"rung", report.rung},
                {"action", report.action}});
  settings_.log->warn("out of memory in " + report.phase + " of update " + std::to_string(report.update) + ": " +
                      report.action);
}

void LifeSigns::plan_changed(std::int64_t update, std::string_view field, std::string_view before,
                             std::string_view after, std::string_view owner) {
  event("plan_change", {{"update", update},
                        {"field", std::string(field)},
                        {"before", std::string(before)},
                        {"after", std::string(after)},
                        {"owner", std::string(owner)}});
}

void LifeSigns::sample_skipped(const SampleFault& fault) {
  status_.skipped_samples += 1;
  if (++skip_lines_ > kSkipLines) return;
  event("skip", {{"what", std::string("sample")},
                 {"source", fault.source},
                 {"index", fault.index},
                 {"epoch", fault.epoch},
                 {"reason", fault.reason}});
  settings_.log->warn("skipped sample " + std::to_string(fault.index) + " of " + fault.source + ": " + fault.reason +
                      (skip_lines_ == kSkipLines ? " (further skips are only counted)" : ""));
}

void LifeSigns::rolled_back(const RollbackReport& report, std::int64_t epoch, std::int64_t samples_seen) {
  event("rollback", {{"from_update", report.from_update},
                     {"to_update", report.to_update},
                     {"first_window", report.first_window + 1},
                     {"windows", report.windows},
                     {"kind", report.kind},
                     {"reason", report.reason}});
  settings_.log->warn("rolled back from update " + std::to_string(report.from_update) + " to update " +
                      std::to_string(report.to_update) + ", leaving out " + std::to_string(report.windows) +
                      (report.windows == 1 ? " window from " : " windows from ") +
                      std::to_string(report.first_window + 1) + " on: " + report.reason);
  last_.update = beat_update_ = report.to_update;
  last_.epoch = epoch;
  last_.epoch_end = false;
  samples_seen_ = samples_seen;
  sums_ = {};
  beat_at_ = {};
}

void LifeSigns::preempted(std::string_view source, std::string_view why) {
  event("preemption", {{"update", last_.update}, {"source", std::string(source)}, {"why", std::string(why)}});
  settings_.log->info("stopping after this window: " + std::string(why));
}

void LifeSigns::signalled(std::string_view why) {
  event("signal", {{"update", last_.update}, {"why", std::string(why)}});
  settings_.log->info("stopping after this window: " + std::string(why));
}

void LifeSigns::note(std::string_view sentence) { settings_.log->info(sentence); }

void LifeSigns::ended(ExitCode code, std::string_view reason) {
  if (ended_) return;
  ended_ = true;
  status_.state = state_of(code);
  status_.exit_code = static_cast<int>(code);
  status_.cause = reason;
  status_.update = last_.update;
  status_.epoch = last_.epoch + (last_.epoch_end ? 1 : 0);
  status_.samples_seen = samples_seen_;
  if (sums_.applied > 0) status_.loss = sums_.loss / static_cast<double>(sums_.applied);
  status_.ended_at = time();
  status_.metrics_url.clear();
  event("end", {{"update", last_.update},
                {"exit_code", static_cast<std::int64_t>(code)},
                {"state", status_.state},
                {"reason", std::string(reason)},
                {"skipped_windows", status_.skipped_windows},
                {"skipped_samples", status_.skipped_samples}});
  console_.erase();
  publish();
  forget_last_words();
}

}  // namespace holdfast::telemetry
