// A family has its row here from the moment that something feeds it, never before.
#include "telemetry/catalogue.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace holdfast::telemetry {
namespace {

constexpr std::array kUpdateBuckets = {1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05,
                                       0.1,  0.25,   0.5,  1.0,  2.5,    5.0,  10.0, 30.0,  60.0};
constexpr std::array kCheckpointBuckets = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0};

constexpr auto kCounter = MetricType::kCounter;
constexpr auto kGauge = MetricType::kGauge;
constexpr auto kHistogram = MetricType::kHistogram;
constexpr auto kFromStart = Appears::kFromStart;
constexpr auto kOnceKnown = Appears::kOnceKnown;
constexpr auto kAtEnd = Appears::kAtEnd;

constexpr std::array kMetrics = {
    // identity and outcome
    MetricInfo{"holdfast_build_info", kGauge, "", "version libtorch", kFromStart, "What trains; always 1."},
    MetricInfo{"holdfast_run_info", kGauge, "", "run_id device strategies", kFromStart,
               "What is trained: generation, device, strategies; always 1."},
    MetricInfo{"holdfast_run_attempt", kGauge, "", "", kFromStart, "Number of this attempt at the generation, from 1."},
    MetricInfo{"holdfast_run_state", kGauge, "", "state", kFromStart,
               "1 for the state that the run is in, 0 for others."},
    MetricInfo{"holdfast_run_start_timestamp_seconds", kGauge, "seconds", "", kFromStart,
               "When this process began to train, Unix time."},
    MetricInfo{"holdfast_run_end_timestamp_seconds", kGauge, "seconds", "", kAtEnd,
               "When this process ended, Unix time."},
    MetricInfo{"holdfast_run_last_success_timestamp_seconds", kGauge, "seconds", "", kOnceKnown,
               "When the target was last reached, Unix time; kept over attempts and generations."},
    MetricInfo{"holdfast_run_attempts_total", kCounter, "", "outcome", kFromStart,
               "Attempts that ended, by outcome; kept over attempts and generations."},
    MetricInfo{"holdfast_preemption_notices_total", kCounter, "", "source", kFromStart,
               "Notices that the machine is about to be taken away, by who said so."},
    MetricInfo{"holdfast_run_expected_interval_seconds", kGauge, "seconds", "", kOnceKnown,
               "How often the run is meant to be started; only where the recipe says."},
    MetricInfo{"holdfast_run_last_duration_seconds", kGauge, "seconds", "", kAtEnd,
               "Time from the start to the end of this process."},
    MetricInfo{"holdfast_run_last_exit_code", kGauge, "", "", kAtEnd, "Exit code of this process."},
    MetricInfo{"holdfast_run_failures_total", kCounter, "", "cause", kOnceKnown,
               "Failed attempts in this run home so far, by cause; every cause from the start."},
    MetricInfo{"holdfast_supervisor_restarts_total", kCounter, "", "cause", kOnceKnown,
               "Restarts by the supervisor in this run home so far, by the cause of the failure before."},
    // progress
    MetricInfo{"holdfast_updates_total", kCounter, "", "", kFromStart, "Optimizer updates applied by this process."},
    MetricInfo{"holdfast_epochs_total", kCounter, "", "", kFromStart, "Epochs completed by this process."},
    MetricInfo{"holdfast_samples_total", kCounter, "", "", kFromStart, "Training samples consumed by this process."},
    MetricInfo{"holdfast_run_update", kGauge, "", "", kFromStart,
               "Updates applied since the run began, over all attempts."},
    MetricInfo{"holdfast_run_epoch", kGauge, "", "", kFromStart, "Epochs completed since the run began."},
    MetricInfo{"holdfast_target_updates", kGauge, "", "", kFromStart, "Updates at which the run is finished."},
    MetricInfo{"holdfast_last_update_timestamp_seconds", kGauge, "seconds", "", kOnceKnown,
               "When the last window ended, Unix time."},
    MetricInfo{"holdfast_update_duration_seconds", kHistogram, "seconds", "phase", kFromStart,
               "Time of a window: waiting for its data, and computing it.", kUpdateBuckets},
    MetricInfo{"holdfast_stage_seconds_total", kCounter, "seconds", "stage", kFromStart,
               "Time that the training thread spent in each stage; what lies between stages is not counted."},
    // quality
    MetricInfo{"holdfast_train_loss", kGauge, "", "", kOnceKnown,
               "Mean loss over the units of the last applied window."},
    MetricInfo{"holdfast_grad_norm", kGauge, "", "", kOnceKnown, "Norm of the last applied gradient, before clipping."},
    MetricInfo{"holdfast_learning_rate", kGauge, "", "", kOnceKnown, "Learning rate of the last window."},
    MetricInfo{"holdfast_loss_scale", kGauge, "", "", kOnceKnown, "Scale of the loss in the last fp16 window."},
    MetricInfo{"holdfast_eval_metric", kGauge, "", "metric", kOnceKnown, "Scores of the last evaluation."},
    MetricInfo{"holdfast_nonfinite_total", kCounter, "", "kind", kFromStart,
               "Windows dropped because the loss or a gradient was not finite."},
    MetricInfo{"holdfast_skipped_updates_total", kCounter, "", "reason", kFromStart,
               "Windows that became no update, by reason."},
    MetricInfo{"holdfast_rollbacks_total", kCounter, "", "reason", kFromStart,
               "Times that the run went back to an older checkpoint, by reason."},
    MetricInfo{"holdfast_skipped_samples_total", kCounter, "", "", kFromStart, "Corrupt samples left out."},
    // memory
    MetricInfo{"holdfast_memory_resident_bytes", kGauge, "bytes", "", kFromStart, "Resident memory of the process."},
    MetricInfo{"holdfast_memory_peak_resident_bytes", kGauge, "bytes", "", kFromStart,
               "Largest resident memory of the process so far."},
    MetricInfo{"holdfast_memory_allocated_bytes", kGauge, "bytes", "domain", kFromStart,
               "Bytes that tensors of a memory domain asked for and hold; what meets the budget."},
    MetricInfo{"holdfast_memory_reserved_bytes", kGauge, "bytes", "domain", kFromStart,
               "Bytes that a memory domain took from the system: allocated, rounding, and kept for reuse."},
    MetricInfo{"holdfast_memory_peak_allocated_bytes", kGauge, "bytes", "domain", kFromStart,
               "Largest allocated bytes of a memory domain so far."},
    MetricInfo{"holdfast_memory_budget_bytes", kGauge, "bytes", "domain", kOnceKnown,
               "Limit of a memory domain's allocated bytes; only where the recipe sets one."},
    MetricInfo{"holdfast_micro_batch_allocated_bytes", kGauge, "bytes", "", kOnceKnown,
               "Bytes of tensors on the device at the end of the last micro-batch looked at (memory.sample_every)."},
    MetricInfo{"holdfast_micro_batch_peak_bytes", kGauge, "bytes", "", kOnceKnown,
               "Largest allocated bytes on the device within the last micro-batch looked at."},
    MetricInfo{"holdfast_micro_batch_reserved_bytes", kGauge, "bytes", "", kOnceKnown,
               "Bytes taken from the system for the device at the end of the last micro-batch looked at."},
    MetricInfo{"holdfast_oom_events_total", kCounter, "", "action", kFromStart,
               "Times that memory ran out, by what was tried then (aborted: nothing was left to try)."},
    MetricInfo{"holdfast_strategy_changes_total", kCounter, "", "to", kFromStart,
               "Changes of the plan by the memory ladder, by field."},
    // checkpoints
    MetricInfo{"holdfast_checkpoint_last_success_timestamp_seconds", kGauge, "seconds", "", kOnceKnown,
               "When the last checkpoint was complete, Unix time."},
    MetricInfo{"holdfast_checkpoint_duration_seconds", kHistogram, "seconds", "op", kFromStart,
               "Time to write a checkpoint, or to find, verify and load one.", kCheckpointBuckets},
    MetricInfo{"holdfast_checkpoint_size_bytes", kGauge, "bytes", "", kOnceKnown,
               "Bytes of the tensors in the last checkpoint."},
    MetricInfo{"holdfast_checkpoint_failures_total", kCounter, "", "reason", kFromStart,
               "Checkpoints that could not be written, by reason."},
    MetricInfo{"holdfast_checkpoint_missed_total", kCounter, "", "", kFromStart,
               "Checkpoints that were due while the one before was still being written."},
    MetricInfo{"holdfast_checkpoint_filesystem_free_bytes", kGauge, "bytes", "", kFromStart,
               "Free bytes of the file system that holds the run."},
    // components
    MetricInfo{"holdfast_component_value", kGauge, "", "component name", kOnceKnown,
               "A figure that a plugin's component reports under a name of its own."},
    // holdfast itself
    MetricInfo{"holdfast_log_messages_total", kCounter, "", "level", kFromStart,
               "Messages of this process by level, those that the log left out included."},
    MetricInfo{"holdfast_metrics_push_failures_total", kCounter, "", "sink", kFromStart,
               "Deliveries of metrics that failed, by sink."},
    MetricInfo{"holdfast_metrics_last_push_timestamp_seconds", kGauge, "seconds", "sink", kOnceKnown,
               "When metrics were last delivered, Unix time, by sink."},
    MetricInfo{"process_cpu_seconds_total", kCounter, "seconds", "", kFromStart,
               "User and system time of the process."},
    MetricInfo{"process_start_time_seconds", kGauge, "seconds", "", kFromStart, "When the process began, Unix time."},
    MetricInfo{"process_virtual_memory_bytes", kGauge, "bytes", "", kFromStart, "Virtual memory of the process."},
    MetricInfo{"process_resident_memory_bytes", kGauge, "bytes", "", kFromStart, "Resident memory of the process."},
    MetricInfo{"process_open_fds", kGauge, "", "", kFromStart, "Open file descriptors."},
    MetricInfo{"process_max_fds", kGauge, "", "", kFromStart, "Limit of open file descriptors."},
    MetricInfo{"process_threads", kGauge, "", "", kFromStart, "Threads of the process."},
};

constexpr std::array<std::string_view, 7> kStates = {"pending",   "running", "checkpointing", "stopping",
                                                     "succeeded", "failed",  "preempted"};
constexpr std::array<std::string_view, 2> kPhases = {"data", "compute"};
constexpr std::array<std::string_view, 6> kStages = {"data",      "forward",    "backward",
                                                     "optimizer", "evaluation", "checkpoint"};
constexpr std::array<std::string_view, 2> kKinds = {"loss", "gradient"};
constexpr std::array<std::string_view, 4> kDrops = {"nonfinite", "vetoed", "empty", "left_out"};
constexpr std::array<std::string_view, 4> kRollbacks = {"nonfinite", "spike", "weights", "other"};
constexpr std::array<std::string_view, 4> kNotices = {"file", "command", "url", "other"};
constexpr std::array<std::string_view, 2> kDomains = {"device", "host"};
constexpr std::array<std::string_view, 6> kOomActions = {
    "retry", "halve_micro_batch", "recompute", "offload_activations", "offload_optimizer", "aborted"};
constexpr std::array<std::string_view, 5> kPlanFields = {"micro_batch_size", "eval_batch_size", "recompute", "offload",
                                                         "optimizer_placement"};
constexpr std::array<std::string_view, 2> kOperations = {"save", "load"};
constexpr std::array<std::string_view, 5> kFailures = {"create", "io", "permission", "nonfinite", "other"};

constexpr std::array<std::string_view, 4> kOutcomes = {"succeeded", "failed", "preempted", "interrupted"};
constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 3> kSinks = {"file", "textfile", "push"};

struct LabelValues {
  std::string_view metric, label;
  std::span<const std::string_view> values;
};
constexpr std::array kLabels = {LabelValues{"holdfast_run_state", "state", kStates},
                                LabelValues{"holdfast_run_attempts_total", "outcome", kOutcomes},
                                LabelValues{"holdfast_log_messages_total", "level", kLevels},
                                LabelValues{"holdfast_metrics_push_failures_total", "sink", kSinks},
                                LabelValues{"holdfast_metrics_last_push_timestamp_seconds", "sink", kSinks},
                                LabelValues{"holdfast_update_duration_seconds", "phase", kPhases},
                                LabelValues{"holdfast_stage_seconds_total", "stage", kStages},
                                LabelValues{"holdfast_nonfinite_total", "kind", kKinds},
                                LabelValues{"holdfast_skipped_updates_total", "reason", kDrops},
                                LabelValues{"holdfast_rollbacks_total", "reason", kRollbacks},
                                LabelValues{"holdfast_preemption_notices_total", "source", kNotices},
                                LabelValues{"holdfast_memory_allocated_bytes", "domain", kDomains},
                                LabelValues{"holdfast_memory_reserved_bytes", "domain", kDomains},
                                LabelValues{"holdfast_memory_peak_allocated_bytes", "domain", kDomains},
                                LabelValues{"holdfast_memory_budget_bytes", "domain", kDomains},
                                LabelValues{"holdfast_oom_events_total", "action", kOomActions},
                                LabelValues{"holdfast_strategy_changes_total", "to", kPlanFields},
                                LabelValues{"holdfast_checkpoint_duration_seconds", "op", kOperations},
                                LabelValues{"holdfast_checkpoint_failures_total", "reason", kFailures}};

}  // namespace

std::span<const MetricInfo> catalogue() { return kMetrics; }

const MetricInfo& metric(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &MetricInfo::name);
  if (found == kMetrics.end()) throw std::logic_error("no metric '" + std::string(name) + "' in the catalogue");
  return *found;
}

std::span<const std::string_view> label_values(std::string_view metric, std::string_view label) {
  for (const LabelValues& row : kLabels)
    if (row.metric == metric && row.label == label) return row.values;
  return {};
}

}  // namespace holdfast::telemetry
