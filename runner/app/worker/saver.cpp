// best.safetensors is a second name (hard link) of the checkpoint's file where the file system has such; else a copy.
#include "app/worker/saver.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/io_error.hpp"
#include "engine/progress_json.hpp"

namespace holdfast::app {
namespace {

void place_best(const std::string& checkpoint, const std::string& generation) {
  const std::string from = checkpoint + "/model.safetensors", fresh = generation + "/.best.safetensors.new";
  unlink(fresh.c_str());
  if (link(from.c_str(), fresh.c_str()) != 0) {
    std::error_code failure;
    std::filesystem::copy_file(from, fresh, failure);
    if (failure) throw base::io_error(base::Doing::kWrite, fresh, failure.value());
  }
  const std::string final_name = generation + "/best.safetensors";
  if (std::rename(fresh.c_str(), final_name.c_str()) != 0) throw base::io_error(base::Doing::kWrite, final_name, errno);
  unlink(fresh.c_str());  // rename of two names of one file leaves both (POSIX)
}

/// While it lives, the end of the grace time waits.
class Waited {
 public:
  explicit Waited(base::SignalWatcher& watcher) : watcher_(watcher) { watcher_.begin_saving(); }
  ~Waited() { watcher_.end_saving(); }
  Waited(const Waited&) = delete;
  Waited& operator=(const Waited&) = delete;

 private:
  base::SignalWatcher& watcher_;
};

}  // namespace

void StoreSaver::open(Settings settings) {
  settings_ = std::move(settings);
  store_.emplace(settings_.generation, settings_.retention);
  store_->obey(settings_.abilities);
  requests_.emplace(settings_.generation);
}

checkpoint::SaveRequest StoreSaver::named(const Request& request) const {
  checkpoint::SaveRequest to;
  to.counters = {request.update, request.epoch, request.samples_seen};
  to.reason = request.reason;
  to.run_id = settings_.run_id;
  to.attempt = settings_.attempt;
  to.suffix = request.suffix;
  to.is_best = request.best;
  return to;
}

checkpoint::Saved StoreSaver::write(const base::StateView& state, const checkpoint::SaveRequest& request) {
  checkpoint::Saved saved = store_->save(state, request);
  if (request.is_best) place_best(saved.path, settings_.generation);
  return saved;
}

SaveReport StoreSaver::told(const checkpoint::Saved& saved, const checkpoint::SaveRequest& request) {
  for (const auto& note : saved.notes) log_.warn(note);
  answer({true, request.counters.update, std::filesystem::path(saved.path).filename().string(), {}});
  SaveReport report;
  report.update = request.counters.update;
  report.path = saved.path;
  report.reason = request.reason;
  report.ok = true;
  report.took = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(saved.seconds));
  return report;
}

SaveReport StoreSaver::save(const base::StateView& state, const Request& request) {
  const Waited waited(watcher_);
  const checkpoint::SaveRequest to = named(request);
  if (requests_) requests_->begun();
  try {
    return told(write(state, to), to);
  } catch (const Error& failure) {
    answer({false, request.update, {}, failure.where() + ": " + failure.message()});
    throw;
  }
}

std::optional<std::string> StoreSaver::wanted() {
  return requests_ && requests_->open() ? std::optional<std::string>("request") : std::nullopt;
}

void StoreSaver::answer(const checkpoint::Answer& answer) {
  if (requests_) requests_->settled(answer);
}

void StoreSaver::begin(const std::function<base::StateView()>& snapshot, const Request& request) {
  base::StateView state = snapshot();
  begun_ = named(request);
  if (requests_) requests_->begun();
  writer_.begin([this, state = std::move(state)] { return write(state, begun_); });
}

std::optional<engine::Saver::Settled> StoreSaver::settle(bool wait) {
  const Waited waited(watcher_);
  auto result = writer_.take(wait);
  if (!result) return std::nullopt;
  if (result->failure) {
    answer({false, begun_.counters.update, {}, result->failure->where() + ": " + result->failure->message()});
    return Settled{{}, std::move(result->failure)};
  }
  return Settled{told(*result->saved, begun_), {}};
}

std::optional<engine::Saver::Found> StoreSaver::newest(std::int64_t window,
                                                       const std::function<void(const std::string&)>& told) {
  const auto early_enough = [&](const checkpoint::Loaded& read) {
    const auto at = engine::progress_from_json(read.state.progress_json, read.path + "/state.json").progress.window;
    if (at > window)
      throw Error(ExitCode::kMissingInput, "checkpoint.too_late", read.path,
                  "it was made after " + std::to_string(at) + " windows, and the first " + std::to_string(window) +
                      " are wanted");
  };
  const Waited waited(watcher_);
  try {
    auto loaded = store_->newest(told, early_enough);
    if (!loaded) return std::nullopt;
    return Found{std::move(loaded->state), std::move(loaded->storage), loaded->path + "/state.json"};
  } catch (const Error& error) {
    if (error.reason() != "checkpoint.none_readable") throw;
    return std::nullopt;
  }
}

SaveReport StoreSaver::save_start(const checkpoint::Loaded& start) {
  const auto& at = start.counters;
  const auto progress = engine::progress_from_json(start.state.progress_json).progress;
  return save(start.state,
              {"start", "", at.update > 0 && progress.best_update == at.update, at.update, at.epoch, at.samples_seen});
}

void StoreSaver::save_best(const checkpoint::Loaded& best) {
  const auto& at = best.counters;
  save(best.state, {"best", "", true, at.update, at.epoch, at.samples_seen});
}

void StoreSaver::write_final(const base::StateView& state, std::int64_t best_update) {
  checkpoint::write_safetensors(settings_.generation + "/model.safetensors", state.model);
  char name[64];
  std::snprintf(name, sizeof name, "/checkpoints/update-%09lld", static_cast<long long>(best_update));
  const std::string best = settings_.generation + name;
  if (best_update > 0 && access((best + "/model.safetensors").c_str(), R_OK) == 0)
    place_best(best, settings_.generation);
}

}  // namespace holdfast::app
