// One training run, from the recipe to the summary. Whatever can fail by input does so before the run home is touched.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/observer.hpp"
#include "app/worker/resumption.hpp"
#include "app/worker/saver.hpp"
#include "app/worker/settings.hpp"
#include "app/worker/space.hpp"
#include "app/worker/summary.hpp"
#include "base/atomic_file.hpp"
#include "base/io_error.hpp"

namespace holdfast::app {
namespace {

constexpr auto kLockPoll = std::chrono::milliseconds(500);

std::string console_term() { return environment("TERM").value_or(""); }

class Run {
 public:
  Run(const CommandLine& line, Frame& frame)
      : line_(line),
        frame_(frame),
        source_(source_of(line, line.targets.front())),
        assembly_(line, source_, frame.log),
        home_(assembly_.recipe().run.path("output")),
        saver_(frame.watcher, frame.log),
        stop_(frame.watcher),
        observer_(frame.log, frame.watcher) {}

  int carry_out() {
    checkpoint::Generation found;
    if (nothing_to_do(line_, assembly_.recipe(), home_, found)) return say_done(found);
    auto requested = requested_checkpoint(line_);
    if (access((home_ + "/lock").c_str(), F_OK) == 0 && !lock()) return 0;
    assembly_.build();
    build_trainer();
    require_space(home_, trainer_->state());
    if (!owned_ && !lock()) return 0;
    const auto current = owned_->current();
    const bool raised =
        current.state == checkpoint::GenerationState::kFinished && target_raised(assembly_.recipe(), current);
    Start start = choose_start(line_, current, raised, std::move(requested),
                               [this](std::string_view why) { frame_.log.warn(why); });
    if (start.state) trainer_->restore(start.state->state, !start.new_generation);
    frame_.preparing = false;  // from here on a stop request is the trainer's
    open_generation(start, current);
    start.state.reset();  // the trainer has its own copy; a second state in memory would be waste
    return finish(trainer_->run());
  }

 private:
  int say_done(const checkpoint::Generation& found) const {
    const auto status = telemetry::read_status(found.path);
    if (!line_.quiet) print(already_done(assembly_.recipe(), found, status, line_.targets.front()));
    return 0;
  }

  /// False when the home is locked and the user said to skip.
  bool lock() {
    bool told = false;
    while (true) {
      try {
        owned_.emplace(checkpoint::RunHome::open(home_));
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

  void build_trainer() {
    engine::TrainerParts parts = assembly_.parts();
    parts.observer = &observer_;
    parts.saver = &saver_;
    parts.stop = &stop_;
    trainer_.emplace(std::move(parts));
  }

  void open_generation(const Start& start, const checkpoint::Generation& current) {
    if (start.new_generation && current.state == checkpoint::GenerationState::kUnfinished) abandon(current);
    generation_ = start.new_generation ? owned_->begin_generation() : current;
    const int attempt = start.new_generation ? 1 : current.attempts + 1;
    if (assembly_.recipe().log.boolean("file")) {
      frame_.run_log = generation_.path + "/run.log";
      frame_.log.open_file(frame_.run_log);
    }
    base::write_file_atomic(generation_.path + "/recipe.toml", assembly_.recipe().effective_toml);
    saver_.open({generation_.path, generation_.name, attempt, retention(assembly_.recipe())});
    saver_.store().clean();
    open_signs(attempt);
    frame_.log.info(assembly_.recipe().run.string("name") + ": attempt " + std::to_string(attempt) + " in " +
                    generation_.path);
    if (!start.why.empty()) frame_.log.info(start.why);
    observer_.attach(*frame_.signs, start.state ? std::filesystem::path(start.state->path).filename().string() : "");
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
    frame_.signs = std::make_unique<telemetry::LifeSigns>(std::move(settings));
  }

  int finish(const engine::Outcome& outcome) {
    if (outcome.code == ExitCode::kOk) saver_.write_final(trainer_->state(), outcome.progress.best_update);
    frame_.signs->ended(outcome.code, outcome.reason);
    if (outcome.code == ExitCode::kOk && assembly_.recipe().run.has("keep_runs"))
      owned_->prune(static_cast<int>(assembly_.recipe().run.integer("keep_runs")));
    const SummaryFacts facts{assembly_.recipe(),     generation_,           outcome,
                             frame_.signs->status(), line_.targets.front(), std::chrono::steady_clock::now() - began_};
    if (!line_.quiet && !line_.json_log) print(summary(facts));
    if (outcome.code != ExitCode::kOk && line_.quiet) frame_.log.warn(outcome.reason);
    return static_cast<int>(outcome.code);
  }

  const CommandLine& line_;
  Frame& frame_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Source source_;
  Assembly assembly_;
  std::string home_;
  StoreSaver saver_;
  WatchedStop stop_;
  SignsObserver observer_;
  std::optional<checkpoint::RunHome> owned_;
  std::optional<engine::Trainer> trainer_;
  checkpoint::Generation generation_;
};

}  // namespace

int run_command(const CommandLine& line, Frame& frame) { return Run(line, frame).carry_out(); }

}  // namespace holdfast::app
