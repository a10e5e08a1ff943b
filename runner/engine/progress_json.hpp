// Counters, best metric and the states of hooks and strategies as the JSON that a checkpoint carries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/loss_scale.hpp"
#include "engine/selection.hpp"
#include "engine/trainer.hpp"

namespace holdfast::engine {

/// What a checkpoint's progress.json holds beside counters.
struct SavedProgress {
  Progress progress;
  std::int64_t last_eval_update = -1;  ///< -1: never evaluated
  std::vector<std::pair<std::string, double>> last_eval;
  bool evaluation_pending = false;                         ///< the saved edge still owes an evaluation
  std::string eval_data;                                   ///< fingerprint; best metrics of other data mean nothing
  std::vector<std::pair<std::string, std::string>> hooks;  ///< table, JSON object
  std::vector<std::pair<std::string, std::string>> strategies;  ///< table, JSON object
  std::optional<LossScaleState> loss_scale{};                   ///< of runs in fp16
};

/// By which metric the best and the early stop were judged: "loss:min", "none". Empty: not known.
struct SavedGoals {
  std::string best, early_stop;
};

/// What is worth telling but does not make two states differ: outside the digest.
struct SavedExtra {
  std::int64_t oom_retries = 0;
  SavedGoals goals;
  /// Choices that may change on resume ("optimizer.lr": "0.001"), to tell what did.
  std::vector<std::pair<std::string, std::string>> choices;
  std::string plan_edits = "{}";  ///< what the ladder changed (plan_change.hpp)
  KnownSegments segments;         ///< what "largest" means
  std::int64_t eval_batch = 0;    ///< samples that an evaluation may see at once; 0: all of a batch
};

/// What to do about any damage in here.
inline constexpr const char* kDamagedHint =
    "the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy";

std::string to_json(const SavedProgress& saved);
std::string to_json(const SavedExtra& extra);
/// Throws Error 66 at `where` naming the field, when the text is not what to_json writes.
SavedProgress progress_from_json(const std::string& text, const std::string& where = "checkpoint");
/// Never fails: what cannot be read is left at its default.
SavedExtra extra_from_json(const std::string& text);

SavedGoals goals_of(const plan::TrainSettings& settings);

}  // namespace holdfast::engine
