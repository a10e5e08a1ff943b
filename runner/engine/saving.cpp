// Saves: in the background where the saver can, otherwise between two windows; what failed is tried again.
#include <ATen/ATen.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/finite.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {

namespace {

/// The state itself is not worth keeping: no other try can help.
bool is_refusal(const Error& failure) { return failure.reason() == base::kNotFinite; }

/// What another moment may mend: not a limit on the size of files.
bool may_pass(const Error& failure) { return failure.code() == ExitCode::kIoError && failure.reason() != "io.too_big"; }

}  // namespace

SavePoint Trainer::Impl::here() const { return {progress.update, progress.window, evaluation_pending_}; }

// At every edge, before anything else is decided there: results of the writer, requests from outside, tries owed.
void Trainer::Impl::heed_saver(Requests& asked) {
  if (!parts.saver) return;
  take_settled(false);
  if (saving_.writing) return;
  if (auto why = parts.saver->wanted(); why && !asked.save_reason) asked.save(*std::move(why));
  if (!saving_.back_off.due(now())) return;
  if (saving_.failed)
    write_again();
  else if (saving_.again && !asked.save_reason)
    asked.save(*saving_.again);
}

void Trainer::Impl::save(Saver::Request request, bool must_succeed) {
  if (!parts.saver) return;
  take_settled(must_succeed || request.best, must_succeed);
  const auto& failed = saving_.failed;
  if (failed && failed->point == here()) request.best = request.best || failed->request.best;
  const bool covered = saving_.safe == here() || (saving_.writing && saving_.writing->point == here());
  if (covered && !request.best) return;
  request.update = progress.update;
  request.epoch = progress.epoch;
  request.samples_seen = progress.samples_seen;
  if (must_succeed && failed && failed->request.best && failed->point != here()) save_best_late();
  if (must_succeed || saving_.no_room || !parts.saver->in_background()) return save_now(request, must_succeed);
  if (saving_.writing) return observer.save_missed(progress.update, request.reason);
  // The best one first: a newer one is made soon enough, but never that one again.
  if (failed && failed->request.best && failed->point != here()) {
    observer.save_missed(progress.update, request.reason);
    return write_again();
  }
  save_behind(request);
}

void Trainer::Impl::save_now(const Saver::Request& request, bool must_succeed) {
  SaveReport report;
  std::optional<Error> failure;
  try {
    report = write_state(request, must_succeed);
  } catch (const Error& error) {
    saving_.hopeless = must_succeed || (parts.stop_on_save_error && !is_refusal(error));
    if (saving_.hopeless) throw;
    failure = error;
    if (!is_refusal(error)) saving_.again = request.reason;
  }
  settled(here(), request, std::move(report), failure, now());
}

// Nobody comes by later to try the last one again.
SaveReport Trainer::Impl::write_state(const Saver::Request& request, bool must_succeed) {
  constexpr int kParts = 16;  // of the time, that the first wait takes; each further one takes twice as many
  Duration left = must_succeed ? parts.last_save_patience : Duration{}, wait = left / kParts;
  while (true) {
    try {
      // Where memory is short there is none for a second copy of the state.
      return parts.saver->save(state(request.suffix.empty() ? Copies::kNow : Copies::kWhenRead), request);
    } catch (const Error& error) {
      wait = std::min(wait, left);
      if (!may_pass(error) || wait <= Duration{}) throw;
      char text[40];
      std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(wait).count());
      observer.warn("the last checkpoint could not be written; it is tried again in " + std::string(text) + ": " +
                    error.where() + ": " + error.message());
    }
    std::this_thread::sleep_for(wait);
    left -= wait;
    wait *= 2;
  }
}

void Trainer::Impl::save_behind(const Saver::Request& request) {
  const Duration taken = now();
  saving_.failed.reset();
  try {
    parts.saver->begin(
        [this] {
          saving_.view = described(saving_.model.take(tensors), saving_.optimizer.take(moments()));
          return saving_.view;
        },
        request);
  } catch (const std::bad_alloc&) {  // of the host domain: the device's pool is not asked
    saving_.no_room = true;
    saving_.model.release();
    saving_.optimizer.release();
    observer.warn(
        "the host has no memory for a copy of the state: checkpoints are written between two windows from now on");
    return save_now(request, false);
  }
  saving_.writing = Saving::Snapshot{here(), request, taken};
}

void Trainer::Impl::write_again() {
  Saving::Snapshot snapshot = *std::exchange(saving_.failed, std::nullopt);
  parts.saver->begin([this] { return saving_.view; }, snapshot.request);
  saving_.writing = std::move(snapshot);
}

// The last chance of a best checkpoint that could not be written when it was made.
void Trainer::Impl::save_best_late() {
  const Saving::Snapshot snapshot = *std::exchange(saving_.failed, std::nullopt);
  SaveReport report;
  std::optional<Error> failure;
  try {
    report = parts.saver->save(saving_.view, snapshot.request);
  } catch (const Error& error) {
    failure = error;
  }
  settled(snapshot.point, snapshot.request, std::move(report), failure, snapshot.taken);
}

void Trainer::Impl::take_settled(bool wait, bool parting) {
  if (!parts.saver || !saving_.writing) return;
  auto result = parts.saver->settle(wait);
  if (!result) return;
  Saving::Snapshot snapshot = *std::exchange(saving_.writing, std::nullopt);
  settled(snapshot.point, snapshot.request, std::move(result->report), result->failure, snapshot.taken);
  if (!result->failure || is_refusal(*result->failure)) return;
  if (!parting && parts.stop_on_save_error) {
    saving_.hopeless = true;
    throw *std::move(result->failure);
  }
  saving_.failed = std::move(snapshot);
}

void Trainer::Impl::settled(const SavePoint& point, const Saver::Request& request, SaveReport report,
                            const std::optional<Error>& failure, Duration taken) {
  if (failure && is_refusal(*failure)) {
    observer.warn("the checkpoint of update " + std::to_string(point.update) +
                  " was refused, the older ones stay: " + failure->what());
  } else if (failure) {
    saving_.back_off.failed(now());
    observer.note("the checkpoint of update " + std::to_string(point.update) +
                  " could not be written and the run goes on; it is tried again in " +
                  std::to_string(saving_.back_off.seconds_left(now())) + " s: " + failure->what());
  } else {
    saving_.safe = point;
    saving_.again.reset();
    saving_.back_off.succeeded();
    if (point == here()) parts.saver->note_present();
  }
  report.ok = !failure;
  report.refused = failure && is_refusal(*failure);
  if (failure) report.fault = failure->message();
  report.update = point.update;
  report.reason = request.reason;
  report.now = taken;
  observer.saved(report);
  hooks.save_end(report);
}

void Trainer::Impl::end_failed(const Error& failure) noexcept {
  const auto attempt = [this](const char* doing, const auto& what) {
    try {
      what();
    } catch (const std::exception& also) {
      observer.note(std::string(doing) + ": " + also.what());
    }
  };
  attempt("the state could not be saved before the end", [&] {
    take_settled(true, true);
    emergency_save(failure.code() == ExitCode::kDeviceOutOfMemory);
  });
  attempt("while ending after a failure", [&] { hooks.run_end(failure.code()); });
}

// Before the first window there is nothing to lose, and a saved identity would refuse the recipe or data once they are
// mended (a smaller batch, for example).
void Trainer::Impl::emergency_save(bool out_of_memory) {
  if (saving_.hopeless) return;
  if (!out_of_memory) {
    if (progress.window > 0) save({"error", "", false, 0, 0, 0}, true);
  } else if (progress.window == 0) {
    observer.note("no checkpoint is written: memory ran out in the first window, so there is nothing to lose yet");
  } else if (!asked_early_.save_reason) {
    observer.note("no checkpoint is written: none was asked for ([hook.oom_checkpoint] does)");
  } else if (saving_.safe == here()) {
    observer.note("the state after update " + std::to_string(progress.update) + " is in a checkpoint already");
  } else {
    save({"oom", "-oom", false, 0, 0, 0}, true);
  }
}

}  // namespace holdfast::engine
