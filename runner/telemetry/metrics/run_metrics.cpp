// Values that change with a window are set where they change; memory and the state are put in when a text is made.
#include "telemetry/metrics/run_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/text.hpp"
#include "telemetry/catalogue.hpp"
#include "telemetry/metrics/component_gauges.hpp"
#include "telemetry/metrics/family.hpp"
#include "telemetry/metrics/process_metrics.hpp"

namespace holdfast::telemetry {
namespace {

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }
double bytes(std::int64_t count) { return static_cast<double>(count); }

std::string_view failure_reason(ExitCode code) {
  if (code == ExitCode::kCannotCreate) return "create";
  if (code == ExitCode::kIoError) return "io";
  if (code == ExitCode::kDiverged) return "nonfinite";
  return code == ExitCode::kPermission ? "permission" : "other";
}

using Counters = std::map<std::string, prometheus::Counter*, std::less<>>;

/// A word that the catalogue lacks counts under "other", where it has that.
void count(const Counters& counters, std::string_view word) {
  auto found = counters.find(word);
  if (found == counters.end()) found = counters.find("other");
  if (found != counters.end()) found->second->Increment();
}

std::string_view final_state(ExitCode code) {
  if (code == ExitCode::kOk) return "succeeded";
  return code == ExitCode::kStoppedAfterSave ? "preempted" : "failed";
}

}  // namespace

struct RunMetrics::Impl {
  explicit Impl(RunMetricsSettings given)
      : settings(std::move(given)),
        clock(settings.clock ? *settings.clock : base::Clock::real()),
        families(registry, settings.run),
        components(families, kMostComponentSeries, settings.warn) {
    start_timestamp.Set(unix_now());
    if (settings.expected_interval > Duration{})
      families.gauge("holdfast_run_expected_interval_seconds").Set(seconds(settings.expected_interval));
  }

  [[nodiscard]] double unix_now() const {
    return std::chrono::duration<double>(clock.wall().time_since_epoch()).count();
  }
  void enter(std::string_view name) {
    if (!over) state.store(name.data());
  }
  /// The state while training goes on: a stop that was asked for shows until the end.
  void resume() { enter(stop_asked ? kStopping : kRunning); }
  void sample();
  void sample_log();
  void sample(std::string_view domain, const std::optional<DomainReading>& reading);

  // Literals, so that the state is one pointer that any thread can read.
  static constexpr std::string_view kPending = "pending", kRunning = "running", kCheckpointing = "checkpointing",
                                    kStopping = "stopping";

  RunMetricsSettings settings;
  const base::Clock& clock;
  prometheus::Registry registry;
  Families families;
  ComponentGauges components;
  ProcessMetrics process{families};
  std::mutex making;  ///< one text at a time; never taken while training
  std::atomic<const char*> state{kPending.data()};
  bool stop_asked = false, over = false;
  std::int64_t samples_seen = 0;
  std::chrono::nanoseconds began = clock.monotonic(), phase_began{};

  std::map<std::string, prometheus::Gauge*, std::less<>> states = families.gauges("holdfast_run_state", "state");
  prometheus::Gauge& start_timestamp = families.gauge("holdfast_run_start_timestamp_seconds");
  prometheus::Counter& updates = families.counter("holdfast_updates_total");
  prometheus::Counter& epochs = families.counter("holdfast_epochs_total");
  prometheus::Counter& samples = families.counter("holdfast_samples_total");
  prometheus::Gauge& run_update = families.gauge("holdfast_run_update");
  prometheus::Gauge& run_epoch = families.gauge("holdfast_run_epoch");
  prometheus::Gauge& target = families.gauge("holdfast_target_updates");
  prometheus::Histogram& data_duration = families.histogram("holdfast_update_duration_seconds", {{"phase", "data"}});
  prometheus::Histogram& compute_duration =
      families.histogram("holdfast_update_duration_seconds", {{"phase", "compute"}});
  Counters stages = families.counters("holdfast_stage_seconds_total", "stage");
  prometheus::Counter &data = *stages.at("data"), &forward = *stages.at("forward"), &backward = *stages.at("backward"),
                      &optimizer = *stages.at("optimizer"), &evaluation = *stages.at("evaluation"),
                      &checkpoint = *stages.at("checkpoint");
  Counters nonfinite = families.counters("holdfast_nonfinite_total", "kind");
  Counters skipped = families.counters("holdfast_skipped_updates_total", "reason");
  prometheus::Counter& skipped_samples = families.counter("holdfast_skipped_samples_total");
  Counters oom = families.counters("holdfast_oom_events_total", "action");
  Counters plan_changes = families.counters("holdfast_strategy_changes_total", "to");
  Counters rollbacks = families.counters("holdfast_rollbacks_total", "reason");
  Counters preemptions = families.counters("holdfast_preemption_notices_total", "source");
  prometheus::Histogram& save_duration = families.histogram("holdfast_checkpoint_duration_seconds", {{"op", "save"}});
  prometheus::Histogram& load_duration = families.histogram("holdfast_checkpoint_duration_seconds", {{"op", "load"}});
  Counters attempts = families.counters("holdfast_run_attempts_total", "outcome");
  Counters messages = families.counters("holdfast_log_messages_total", "level");
  Counters push_failures = families.counters("holdfast_metrics_push_failures_total", "sink");
  std::array<std::int64_t, 4> messages_told{};
  Counters save_failures = families.counters("holdfast_checkpoint_failures_total", "reason");
  prometheus::Counter& missed = families.counter("holdfast_checkpoint_missed_total");
  // Made when there is something to tell.
  prometheus::Gauge *last_update = nullptr, *loss = nullptr, *grad_norm = nullptr, *learning_rate = nullptr,
                    *loss_scale = nullptr;
  prometheus::Gauge *micro_allocated = nullptr, *micro_peak = nullptr, *micro_reserved = nullptr;

  void set(prometheus::Gauge*& gauge, std::string_view name, double value) {
    if (!gauge) gauge = &families.gauge(name);
    gauge->Set(value);
  }
};

RunMetrics::RunMetrics(RunMetricsSettings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
RunMetrics::~RunMetrics() = default;

void RunMetrics::identify(const RunIdentity& identity) {
  auto& families = impl_->families;
  families.gauge("holdfast_build_info", {{"version", identity.version}, {"libtorch", identity.libtorch}}).Set(1);
  families
      .gauge("holdfast_run_info", {{"run_id", label_text(identity.run_id)},
                                   {"device", label_text(identity.device)},
                                   {"strategies", label_text(identity.strategies)}})
      .Set(1);
  families.gauge("holdfast_run_attempt").Set(identity.attempt);
}

void RunMetrics::remember(const std::map<std::string, std::int64_t>& failures,
                          const std::map<std::string, std::int64_t>& restarts) {
  const auto put = [this](std::string_view name, const std::map<std::string, std::int64_t>& counts) {
    for (const auto& [cause, count] : counts)
      impl_->families.counter(name, {{"cause", label_text(cause)}}).Increment(static_cast<double>(count));
  };
  put("holdfast_run_failures_total", failures);
  put("holdfast_supervisor_restarts_total", restarts);
}

void RunMetrics::recall(const Outcomes& outcomes) {
  for (const auto& [name, count] : outcomes.attempts)
    if (const auto found = impl_->attempts.find(name); found != impl_->attempts.end())
      found->second->Increment(static_cast<double>(count));
  if (outcomes.last_success > 0)
    impl_->families.gauge("holdfast_run_last_success_timestamp_seconds")
        .Set(static_cast<double>(outcomes.last_success));
}

void RunMetrics::delivered(std::string_view sink, bool well) {
  if (well)
    impl_->families.gauge("holdfast_metrics_last_push_timestamp_seconds", {{"sink", sink}}).Set(impl_->unix_now());
  else if (const auto found = impl_->push_failures.find(sink); found != impl_->push_failures.end())
    found->second->Increment();
}

void RunMetrics::started(const StartPosition& at) {
  impl_->samples_seen = at.samples_seen;
  impl_->run_update.Set(static_cast<double>(at.update));
  impl_->run_epoch.Set(static_cast<double>(at.epoch));
  impl_->target.Set(static_cast<double>(at.target_updates));
  impl_->resume();
}

void RunMetrics::window(const WindowReport& report, std::int64_t samples_seen, std::string_view dropped,
                        const StageTimes& times) {
  Impl& to = *impl_;
  to.samples.Increment(static_cast<double>(samples_seen - to.samples_seen));
  to.samples_seen = samples_seen;
  if (report.epoch_end) {
    to.epochs.Increment();
    to.run_epoch.Set(static_cast<double>(report.epoch + 1));
  }
  to.data_duration.Observe(seconds(times.data));
  to.compute_duration.Observe(seconds(times.compute));
  to.data.Increment(seconds(times.data));
  to.forward.Increment(seconds(times.forward));
  to.backward.Increment(seconds(times.backward));
  to.optimizer.Increment(seconds(times.optimizer));
  to.set(to.last_update, "holdfast_last_update_timestamp_seconds", to.unix_now());
  to.set(to.learning_rate, "holdfast_learning_rate", report.learning_rate);
  if (report.loss_scale > 0) to.set(to.loss_scale, "holdfast_loss_scale", report.loss_scale);
  if (report.applied) {
    to.updates.Increment();
    to.run_update.Set(static_cast<double>(report.update));
    to.set(to.loss, "holdfast_train_loss", report.loss);
    if (report.grad_norm >= 0) to.set(to.grad_norm, "holdfast_grad_norm", report.grad_norm);
    return;
  }
  count(to.skipped, dropped);
  if (dropped == "nonfinite") to.nonfinite.at(std::isfinite(report.loss) ? "gradient" : "loss")->Increment();
}

void RunMetrics::micro_batch_memory(std::int64_t allocated, std::int64_t peak, std::int64_t reserved) {
  impl_->set(impl_->micro_allocated, "holdfast_micro_batch_allocated_bytes", bytes(allocated));
  impl_->set(impl_->micro_peak, "holdfast_micro_batch_peak_bytes", bytes(peak));
  impl_->set(impl_->micro_reserved, "holdfast_micro_batch_reserved_bytes", bytes(reserved));
}

void RunMetrics::evaluating() { impl_->phase_began = impl_->clock.monotonic(); }

void RunMetrics::evaluated(const EvalReport& report) {
  impl_->evaluation.Increment(seconds(impl_->clock.monotonic() - impl_->phase_began));
  for (const auto& [name, value] : report.scores)
    impl_->families.gauge("holdfast_eval_metric", {{"metric", label_text(name)}}).Set(value);
}

void RunMetrics::saving() {
  impl_->phase_began = impl_->clock.monotonic();
  impl_->enter(Impl::kCheckpointing);
}

void RunMetrics::snapshot_taken() {
  impl_->checkpoint.Increment(seconds(impl_->clock.monotonic() - impl_->phase_began));
  impl_->resume();
}

void RunMetrics::saved_behind(std::int64_t size, Duration took) {
  impl_->save_duration.Observe(seconds(took));
  impl_->families.gauge("holdfast_checkpoint_last_success_timestamp_seconds").Set(impl_->unix_now());
  impl_->families.gauge("holdfast_checkpoint_size_bytes").Set(bytes(size));
}

void RunMetrics::failed_behind(ExitCode code) {
  impl_->save_failures.at(std::string(failure_reason(code)))->Increment();
}

void RunMetrics::save_missed() { impl_->missed.Increment(); }

void RunMetrics::saved(std::int64_t size) {
  saved_behind(size, impl_->clock.monotonic() - impl_->phase_began);
  snapshot_taken();
}

void RunMetrics::save_failed(ExitCode code) {
  failed_behind(code);
  snapshot_taken();
}

void RunMetrics::loaded(Duration took) { impl_->load_duration.Observe(seconds(took)); }

void RunMetrics::out_of_memory(const OomReport& report) {
  const std::string_view action = report.rung == "save" ? "aborted" : std::string_view(report.rung);
  count(impl_->oom, action);
}

void RunMetrics::plan_changed(std::string_view field) { count(impl_->plan_changes, field); }

void RunMetrics::sample_skipped() { impl_->skipped_samples.Increment(); }

void RunMetrics::rolled_back(const RollbackReport& report, std::int64_t samples_seen) {
  count(impl_->rollbacks, report.kind);
  impl_->samples_seen = samples_seen;
  impl_->run_update.Set(static_cast<double>(report.to_update));
}

void RunMetrics::preempted(std::string_view source) {
  count(impl_->preemptions, source);
  stopping();
}

void RunMetrics::stopping() {
  impl_->stop_asked = true;
  impl_->resume();
}

void RunMetrics::ended(ExitCode code) {
  Impl& to = *impl_;
  if (to.over) return;
  to.enter(final_state(code));
  to.over = true;
  to.families.gauge("holdfast_run_end_timestamp_seconds").Set(to.unix_now());
  to.families.gauge("holdfast_run_last_duration_seconds").Set(seconds(to.clock.monotonic() - to.began));
  to.families.gauge("holdfast_run_last_exit_code").Set(static_cast<double>(code));
  if (code == ExitCode::kOk) to.families.gauge("holdfast_run_last_success_timestamp_seconds").Set(to.unix_now());
  Outcomes own;
  own.count(code, 0);
  recall(own);
}

Metrics& RunMetrics::component(const std::string& table) { return impl_->components.of(table); }

void RunMetrics::Impl::sample() {
  const std::string_view now = state.load();
  for (const auto& [name, gauge] : states) gauge->Set(name == now ? 1 : 0);
  process.sample();
  sample_log();
  if (!settings.memory) return;
  const MemoryReading reading = settings.memory();
  const std::array<std::pair<const char*, std::optional<std::int64_t>>, 3> figures = {
      {{"holdfast_memory_resident_bytes", reading.resident},
       {"holdfast_memory_peak_resident_bytes", reading.peak_resident},
       {"holdfast_checkpoint_filesystem_free_bytes", reading.filesystem_free}}};
  for (const auto& [name, value] : figures)
    if (value) families.gauge(name).Set(bytes(*value));
  sample("device", reading.device);
  sample("host", reading.host);
}

void RunMetrics::Impl::sample(std::string_view domain, const std::optional<DomainReading>& reading) {
  if (!reading) return;
  const auto set = [&](const char* name, std::int64_t value) {
    families.gauge(name, {{"domain", domain}}).Set(bytes(value));
  };
  set("holdfast_memory_allocated_bytes", reading->allocated);
  set("holdfast_memory_reserved_bytes", reading->reserved);
  set("holdfast_memory_peak_allocated_bytes", reading->peak);
  if (reading->budget > 0) set("holdfast_memory_budget_bytes", reading->budget);
}

void RunMetrics::Impl::sample_log() {
  if (!settings.log_messages) return;
  constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
  const auto now = settings.log_messages();
  for (std::size_t i = 0; i < now.size(); ++i)
    messages.find(kLevels[i])->second->Increment(static_cast<double>(now[i] - messages_told[i]));
  messages_told = now;
}

std::string RunMetrics::text(Extent extent) {
  const std::lock_guard lock(impl_->making);
  impl_->sample();
  auto families = impl_->registry.Collect();
  if (extent == Extent::kOutcome)
    std::erase_if(families, [](const auto& family) {
      return !family.name.starts_with("holdfast_run_") && family.name != "holdfast_build_info";
    });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace holdfast::telemetry
