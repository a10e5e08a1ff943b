// A checkpoint of an earlier attempt tells how large the next ones will be.
#include "app/front/doctor.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "app/front/location.hpp"
#include "app/front/source.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/store.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

std::int64_t bytes_below(const std::string& folder) {
  std::error_code failure;
  std::int64_t sum = 0;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    if (std::error_code ignored; entry->is_regular_file(ignored))
      sum += static_cast<std::int64_t>(entry->file_size(ignored));
  return sum;
}

/// Of the newest checkpoint below this home; negative when there is none.
std::int64_t checkpoint_bytes(const std::string& home) {
  try {
    const auto generation = checkpoint::RunHome::look(home);
    if (generation.path.empty()) return -1;
    const std::string newest = checkpoint::Store(generation.path, {}).newest_path();
    return newest.empty() ? -1 : bytes_below(newest);
  } catch (const Error&) {  // what is wrong with the home is for `holdfast run` to say
    return -1;
  }
}

bool ends_with_terminal() {
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  const bool kept = environment("TMUX") || environment("STY");
  return isatty(STDIN_FILENO) != 0 && hangup.sa_handler != SIG_IGN && !kept;
}

bool has_worker() {
  try {
    return !worker_of(own_path()).empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

supervise::CheckupFacts checkup_facts(const CommandLine& line, const std::string& libtorch) {
  supervise::CheckupFacts facts;
  facts.libtorch = libtorch;
  facts.worker = has_worker();
  facts.terminal = ends_with_terminal();
  if (line.targets.empty()) return facts;
  const RunSettings settings = run_settings(line, line.targets.front());
  facts.device = settings.device;
  facts.output = settings.home;
  facts.keep = settings.keep;
  facts.checkpoint_bytes = checkpoint_bytes(settings.home);
  return facts;
}

}  // namespace holdfast::app
