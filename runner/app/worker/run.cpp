// One training run, from the recipe to the summary. Whatever can fail by input does so before the run home is touched.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "app/front/aftermath.hpp"
#include "app/worker/assembly.hpp"
#include "app/worker/best_start.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/credentials.hpp"
#include "app/worker/flight.hpp"
#include "app/worker/inputs.hpp"
#include "app/worker/metering.hpp"
#include "app/worker/observer.hpp"
#include "app/worker/resumption.hpp"
#include "app/worker/saver.hpp"
#include "app/worker/saving_way.hpp"
#include "app/worker/settings.hpp"
#include "app/worker/space.hpp"
#include "app/worker/stop.hpp"
#include "app/worker/summary.hpp"
#include "base/atomic_file.hpp"
#include "base/clock.hpp"
#include "base/io_error.hpp"
#include "data/prefetch.hpp"
#include "device/domain_pool.hpp"
#include "host/process_end.hpp"

namespace holdfast::app {
namespace {

constexpr auto kLockPoll = std::chrono::milliseconds(500);

std::string console_term() { return environment("TERM").value_or(""); }

std::optional<Duration> max_wall_time(const Options& run) {
  return run.has("max_wall_time") ? std::optional(run.duration("max_wall_time")) : std::nullopt;
}

class Run {
 public:
  Run(const CommandLine& line, Frame& frame)
      : line_(line),
        frame_(frame),
        source_(source_of(line, line.targets.front())),
        assembly_(line, source_, frame.log),
        home_(assembly_.recipe().run.path("output")),
        saver_(frame.watcher, frame.log),
        service_(service_settings(assembly_.recipe().run.duration("grace"))),
        stop_(frame.watcher,
              deadline(max_wall_time(assembly_.recipe().run), assembly_.recipe().run.duration("grace"),
                       began_.time_since_epoch()),
              service_),
        observer_(frame.log, frame.watcher, service_) {
    frame_.watcher.set_grace(
        std::chrono::duration_cast<std::chrono::milliseconds>(assembly_.recipe().run.duration("grace")));
    push_ = push_settings(assembly_.recipe());
    frame_.metrics = run_metrics(assembly_.recipe(), home_, frame_.log);
    assembly_.report_to(*frame_.metrics);
    metered_.attach(*frame_.metrics);
  }

  int carry_out() {
    require_newest(line_);
    checkpoint::RunHome::require_own_place(home_);
    if (done()) return 0;
    inputs_ = inputs_of(assembly_.recipe(), assembly_.host());
    refuse_tombstone(line_, standing(), inputs_);
    std::optional<checkpoint::Loaded> requested;
    if (requests_checkpoint(line_)) {
      build_trainer();  // it judges the checkpoint before anything is touched
      requested = requested_checkpoint(line_, warn(), accept());
    }
    if (access((home_ + "/lock").c_str(), F_OK) == 0 && !enter()) return 0;
    if (!trainer_) build_trainer();
    choose_saving(assembly_.first_state(*trainer_));
    if (!owned_ && !enter()) return 0;
    const auto current = owned_->current();
    const bool raised =
        current.state == checkpoint::GenerationState::kFinished && target_raised(assembly_.recipe(), current);
    const auto loading = std::chrono::steady_clock::now();
    Start start = choose_start(line_, current, raised, std::move(requested), warn(), accept());
    take_best_along(start, warn());
    if (start.state) trainer_->restore(start.state->state, true, start.state->path + "/state.json");
    if (start.state) frame_.metrics->loaded(std::chrono::steady_clock::now() - loading);
    keep_best_if(start, trainer_->state());
    frame_.preparing = false;  // from here on a stop request is the trainer's
    open_generation(start, current);
    start = {};  // the trainer has its own copy; a second state in memory would be waste
    return finish(trainer_->run());
  }

 private:
  std::function<void(std::string_view)> warn() {
    return [this](std::string_view why) { frame_.log.warn(why); };
  }

  /// True, and said, when there is nothing left to do.
  bool done() const {
    checkpoint::Generation found;
    if (!nothing_to_do(line_, assembly_.recipe(), home_, found)) return false;
    const auto status = telemetry::read_status(found.path);
    if (!line_.quiet) print(already_done(assembly_.recipe(), found, status, go_on_target(line_, home_)));
    return true;
  }

  /// The generation that stands in the home; none where it cannot be looked into: that is told when it is opened.
  [[nodiscard]] checkpoint::Generation standing() const {
    return access(home_.c_str(), R_OK | X_OK) == 0 ? checkpoint::RunHome::look(home_) : checkpoint::Generation{};
  }

  /// Takes the lock. False when there is nothing to do here: the home was locked and is to be skipped, or whoever held
  /// the lock has finished the run.
  bool enter() { return lock() && !done(); }

  /// False when the home is locked and the user said to skip.
  bool lock() {
    bool told = false;
    while (true) {
      try {
        owned_.emplace(checkpoint::RunHome::open(home_));
        for (const auto& sentence : checkpoint::shortcomings(owned_->abilities())) frame_.log.info(sentence);
        return true;
      } catch (const Error& error) {  // not a failure where the user said what to do about it
        if (error.reason() != "home.locked" || line_.on_locked == OnLocked::kFail) throw;
        if (!told) frame_.log.info(error.message() + (line_.on_locked == OnLocked::kSkip ? "; skipped" : "; waiting"));
        if (line_.on_locked == OnLocked::kSkip) return false;
      }
      told = true;
      std::this_thread::sleep_for(kLockPoll);
    }
  }

  /// The trainer's word on a checkpoint whose checksums are right.
  checkpoint::Store::Accept accept() {
    return [this](const checkpoint::Loaded& read) { trainer_->check(read.state, read.path + "/state.json"); };
  }

  void choose_saving(const base::StateView& state) {
    require_space(home_, state);
    const SavingWay way = saving_way(assembly_.recipe().checkpoint.boolean("async"), bytes_of(state), host_room());
    if (way.behind) saver_.write_behind();
    if (!way.why.empty()) frame_.log.info("checkpoints are written between two windows: " + way.why);
  }

  void build_trainer() {
    assembly_.build();
    assembly_.require_room();
    engine::TrainerParts parts = assembly_.parts();
    parts.observer = &observer_;
    parts.saver = &metered_;
    parts.stop = &stop_;
    trainer_.emplace(std::move(parts));
  }

  void open_generation(const Start& start, const checkpoint::Generation& current) {
    const bool fresh = start.new_generation;
    std::optional<SaveReport> first;
    if (fresh) first = begin_generation(start);
    if (fresh && current.state == checkpoint::GenerationState::kUnfinished) abandon(current);
    if (!fresh) settle_last();
    generation_ = owned_->current();
    const int attempt = fresh ? 1 : current.attempts + 1;
    if (assembly_.recipe().log.boolean("file")) {
      frame_.run_log = generation_.path + "/run.log";
      frame_.log.open_file(frame_.run_log);
    }
    if (!fresh) base::write_file_atomic(generation_.path + "/recipe.toml", assembly_.recipe().effective_toml);
    saver_.open({generation_.path, generation_.name, attempt, retention(assembly_.recipe()), owned_->abilities()});
    const std::string from = start.state ? std::filesystem::path(start.state->path).filename().string() : "";
    for (const auto& note : saver_.store().clean(fresh ? "" : from)) frame_.log.warn(note);
    remember_failures(home_, *frame_.metrics);
    frame_.metrics->identify(run_identity(assembly_.recipe(), generation_, attempt));
    frame_.home = home_;
    frame_.outcomes = telemetry::begin_attempt(home_, generation_.name);
    frame_.metrics->recall(frame_.outcomes);
    auto exported = exporter_settings(assembly_.recipe(), generation_, frame_.log);
    exported.push = push_;
    frame_.exporter = std::make_unique<telemetry::Exporter>(*frame_.metrics, std::move(exported));
    keep_inputs(generation_.path, inputs_);
    begin_flight(flight_settings(assembly_.recipe(), generation_, attempt), frame_.log);
    open_signs(attempt);
    frame_.generation = generation_.path;
    frame_.log.info(assembly_.recipe().run.string("name") + ": attempt " + std::to_string(attempt) + " in " +
                    generation_.path);
    if (!start.why.empty()) frame_.log.info(start.why);
    observer_.attach(*frame_.signs, *frame_.metrics, from, std::move(first));
  }

  /// A generation stands with its recipe, a status and the state that it begins from, or not at all.
  std::optional<SaveReport> begin_generation(const Start& start) {
    std::optional<SaveReport> first;
    const auto begun = owned_->begin_generation([&](const std::string& folder, const std::string& name) {
      base::write_file_atomic(folder + "/recipe.toml", assembly_.recipe().effective_toml);
      telemetry::write_status(folder, first_status(name, start));
      if (!start.state) return;
      saver_.open({folder, name, 1, retention(assembly_.recipe()), owned_->abilities()});
      if (start.best) saver_.save_best(*start.best);
      first = saver_.save_start(*start.state);
    });
    if (first) first->path = begun.path + "/checkpoints/" + std::filesystem::path(first->path).filename().string();
    return first;
  }

  [[nodiscard]] telemetry::Status first_status(const std::string& generation, const Start& start) const {
    telemetry::Status at;
    at.run = assembly_.recipe().run.string("name");
    at.generation = generation;
    at.pid = getpid();
    at.started_at = at.attempt_at = at.updated_at = base::rfc3339_utc(base::Clock::real().wall());
    if (!start.state) return at;
    at.update = start.state->counters.update;
    at.epoch = start.state->counters.epoch;
    at.samples_seen = start.state->counters.samples_seen;
    return at;
  }

  /// How the attempt before this one ended, before this one writes over what tells it.
  void settle_last() const {
    supervise::Trace trace = trace_of(home_);
    trace.locked = false;  // by us
    settle(supervise::RealSystem(environment("HOLDFAST_SYSROOT").value_or("")), trace);
  }

  static void abandon(const checkpoint::Generation& left) {
    auto status = telemetry::read_status(left.path);
    if (!status) return;
    status->state = "abandoned";
    telemetry::write_status(left.path, *status);
  }

  void open_signs(int attempt) {
    telemetry::LifeSignsSettings settings;
    settings.folder = generation_.path;
    settings.run = assembly_.recipe().run.string("name");
    settings.generation = generation_.name;
    settings.attempt = attempt;
    if (assembly_.recipe().train.has("epochs")) settings.epochs = assembly_.recipe().train.integer("epochs");
    settings.best_metric = train_settings(assembly_.recipe()).best.metric;
    settings.every = assembly_.recipe().log.duration("every");
    settings.console = telemetry::console_mode(STDERR_FILENO, line_.quiet, line_.json_log, console_term());
    settings.log = &frame_.log;
    settings.metrics_url = frame_.exporter->url();
    settings.facts = start_facts(assembly_.recipe());
    frame_.signs = std::make_unique<telemetry::LifeSigns>(std::move(settings));
  }

  int finish(const engine::Outcome& outcome) {
    if (outcome.code == ExitCode::kOk) saver_.write_final(trainer_->state(), outcome.progress.best_update);
    frame_.signs->recall(outcome.progress.best_update, outcome.progress.best_metric, outcome.last_eval);
    frame_.end(outcome.code, outcome.reason);
    if (outcome.code == ExitCode::kOk && assembly_.recipe().run.has("keep_runs"))
      owned_->prune(static_cast<int>(assembly_.recipe().run.integer("keep_runs")));
    const SummaryFacts facts{assembly_.recipe(),
                             generation_,
                             outcome,
                             frame_.signs->status(),
                             go_on_target(line_, home_),
                             std::chrono::steady_clock::now() - began_,
                             device::pool_of(device::Domain::kDevice).reading()};
    if (!line_.quiet && !line_.json_log) print(summary(facts));
    if (outcome.code != ExitCode::kOk && line_.quiet) frame_.log.warn(outcome.reason);
    return static_cast<int>(outcome.code);
  }

  const CommandLine& line_;
  Frame& frame_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Source source_;
  Assembly assembly_;
  std::string home_, inputs_;
  std::optional<telemetry::PushSettings> push_;
  StoreSaver saver_;
  MeteredSaver metered_{saver_};
  Service service_;
  OutsideStop stop_;
  SignsObserver observer_;
  std::optional<checkpoint::RunHome> owned_;
  std::optional<engine::Trainer> trainer_;
  checkpoint::Generation generation_;
};

}  // namespace

int run_command(const CommandLine& line, Frame& frame) {
  Run run(line, frame);
  int code = 0;
  try {
    code = run.carry_out();
  } catch (const Error& error) {
    if (data::threads_left_behind == 0) throw;
    frame.end(error.code(), error.what());
    frame.print_error(error);
    code = static_cast<int>(error.code());
  }
  // A thread is still in the data set: nothing that it uses may be destroyed.
  if (data::threads_left_behind > 0) host::end_process(code);
  return code;
}

}  // namespace holdfast::app
