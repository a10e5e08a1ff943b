// The lock of the run home tells whether anybody is there; requests/ carries question and answer.
#include "app/front/checkpoint_request.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/requests.hpp"
#include "checkpoint/store.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

[[noreturn]] void nobody(const std::string& home, const std::string& generation, const std::string& what) {
  const std::string newest = checkpoint::Store(generation, {}).newest_path();
  throw Error(ExitCode::kMissingInput, "checkpoint.no_process", base::terminal_safe_line(home), what,
              newest.empty() ? "no checkpoint has been saved here yet: `holdfast run` starts or continues the run"
                             : "the newest checkpoint is " + base::terminal_safe_line(newest) +
                                   "; `holdfast run` goes on from there");
}

}  // namespace

RequestOutcome request_checkpoint(const std::string& path, std::chrono::milliseconds patience) {
  const checkpoint::Generation generation = checkpoint::RunHome::look(path);
  if (generation.state == checkpoint::GenerationState::kAbsent)
    throw Error(ExitCode::kMissingInput, "checkpoint.absent", base::terminal_safe_line(path),
                "there is no such run folder", "name a run's home, like configs/runs/digits");
  const std::string home = std::filesystem::path(generation.path).parent_path().string();
  if (!checkpoint::RunHome::holder(home)) nobody(home, generation.path, "no process works in this run home");
  const std::string request = checkpoint::place_request(generation.path);
  const auto until = std::chrono::steady_clock::now() + patience;
  RequestOutcome outcome;
  while (true) {
    const bool there = checkpoint::RunHome::holder(home).has_value();  // before the answer: it may come, then go
    if (const auto answer = checkpoint::take_answer(generation.path, request)) {
      if (!answer->ok)
        throw Error(ExitCode::kIoError, "checkpoint.failed", base::terminal_safe_line(generation.path),
                    "the checkpoint of update " + std::to_string(answer->update) +
                        " could not be written: " + base::terminal_safe_line(answer->text),
                    "the older ones stay, and the run tries again by itself");
      outcome.update = answer->update;
      outcome.path = generation.path + "/checkpoints/" + answer->path;
      return outcome;
    }
    if (!there) {
      checkpoint::withdraw_request(generation.path, request);
      nobody(home, generation.path, "the process ended before it reached the edge of a window");
    }
    outcome.pending = std::chrono::steady_clock::now() >= until;
    if (outcome.pending) return outcome;
    std::this_thread::sleep_for(kPoll);
  }
}

std::string request_text(const RequestOutcome& outcome, std::chrono::milliseconds patience) {
  if (!outcome.pending)
    return "checkpoint of update " + std::to_string(outcome.update) + ": " + base::terminal_safe_line(outcome.path) +
           "\n";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
  return "the request is pending" + (seconds > 0 ? " after " + std::to_string(seconds) + " s" : std::string()) +
         ": the process saves at the edge of the window that it is working on\n";
}

std::string request_json(const RequestOutcome& outcome) {
  nlohmann::ordered_json object = {{"pending", outcome.pending}};
  if (!outcome.pending) object.update({{"update", outcome.update}, {"path", outcome.path}});
  return object.dump(2) + "\n";
}

}  // namespace holdfast::app
