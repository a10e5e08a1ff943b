// Texts of --help. Exit codes come from the one table in base.
#include "app/command/help.hpp"

#include <array>
#include <cstdio>

#include "base/exit_codes.hpp"

namespace holdfast::app {
namespace {

constexpr std::array kRows = {
    CommandRow{Command::kRun, "run", "Train: run each recipe in turn, or continue a run folder",
               "Examples:\n"
               "  holdfast run configs/digits.toml\n"
               "  holdfast run configs/digits.toml --set optimizer.lr=3e-4 --set train.epochs=40\n"
               "  holdfast run configs/runs/digits          continue the newest generation\n"
               "  holdfast run a.toml b.toml c.toml         one process each; a failing one does not stop the rest\n"
               "  holdfast run a.toml --supervise           start again after crashes, kills and hangs\n\n"
               "Run again after an interruption: the newest good checkpoint is found and training goes on.\n"
               "With several recipes the exit code is that of the first one that failed; SIGINT or SIGTERM stops the\n"
               "current one after saving and starts no other.",
               true},
    CommandRow{Command::kValidate, "validate", "Check everything that can be checked without training",
               "Examples:\n"
               "  holdfast validate configs/digits.toml\n"
               "  holdfast validate configs/digits.toml --data        also read every sample once\n"
               "  holdfast validate untrusted.toml --no-plugins       run no plugin's code",
               true},
    CommandRow{
        Command::kPlan, "plan", "Show how an update will be computed, who chose it, and what is exact",
        "Examples:\n"
        "  holdfast plan configs/digits.toml\n"
        "  holdfast plan configs/digits.toml --measure          a few updates: bytes and time of each segment\n"
        "  holdfast plan configs/runs/digits --measure --json   from the newest checkpoint of a run, for programs",
        true},
    CommandRow{Command::kEval, "eval", "Evaluate a run on its eval data set",
               "Examples:\n"
               "  holdfast eval configs/runs/digits\n"
               "  holdfast eval configs/runs/digits --checkpoint best\n"
               "  holdfast eval configs/runs/digits --set dataset.eval.images=other.gz --set dataset.eval.labels=l.gz",
               true},
    CommandRow{Command::kInspect, "inspect",
               "Show a checkpoint: counters, tensors, digests; every checksum is verified",
               "Examples:\n"
               "  holdfast inspect configs/runs/digits\n"
               "  holdfast inspect configs/runs/digits/current/checkpoints/latest --json",
               false},
    CommandRow{Command::kCheckpoint, "checkpoint", "Ask the process that works on a run for a checkpoint, now",
               "Examples:\n"
               "  holdfast checkpoint configs/runs/digits\n"
               "  holdfast checkpoint configs/runs/digits --timeout 0      only ask\n\n"
               "The process saves at the edge of the window that it is working on. Exit code 0: saved (or asked, with\n"
               "--timeout 0), 75: no answer yet, the request stays; 66: no process works there.",
               false},
    CommandRow{Command::kStatus, "status", "A table of all runs below a folder",
               "Example:\n  holdfast status configs/runs", false},
    CommandRow{Command::kWhy, "why", "Say why a run stopped: cause, evidence, what to do",
               "Examples:\n"
               "  holdfast why configs/runs/digits\n"
               "  holdfast why configs/runs/digits --json\n"
               "  holdfast why /runs/nightly --termination-log /dev/termination-log\n\n"
               "Exit code 0 whenever there is an answer; the run's own code is in it.",
               false},
    CommandRow{Command::kDoctor, "doctor", "Check the machine before a run",
               "Examples:\n"
               "  holdfast doctor\n"
               "  holdfast doctor configs/digits.toml --json\n\n"
               "Exit code 69 when a check finds a fault.",
               false},
    CommandRow{Command::kReport, "report", "Write one HTML file that shows a run: curves, attempts, memory, recipe",
               "A run writes it by itself when it ends; after a kill, and while it trains, this command does.\n\n"
               "Examples:\n"
               "  holdfast report configs/runs/digits\n"
               "  holdfast report configs/runs/digits --output digits.html",
               false},
    CommandRow{Command::kPlugins, "plugins", "List plugins, or one plugin's options",
               "Examples:\n"
               "  holdfast plugins\n"
               "  holdfast plugins mlp\n"
               "  holdfast plugins --check build/libholdfast_lstm.so",
               true},
    CommandRow{Command::kSchema, "schema", "Print the JSON Schema of recipes, for editors",
               "Examples:\n"
               "  holdfast schema > run.schema.json\n"
               "  holdfast schema --markdown        every table and key with type, default and meaning",
               true},
    CommandRow{Command::kMetrics, "metrics", "List every metric that a run exports",
               "Examples:\n"
               "  holdfast metrics --list\n"
               "  holdfast metrics --list --markdown",
               false},
};

}  // namespace

std::span<const CommandRow> command_rows() { return kRows; }

std::string overview() {
  std::string text =
      "holdfast trains LibTorch models from a TOML recipe and does not let go.\n\n"
      "Usage: holdfast COMMAND ...\n\nCommands:\n";
  char line[160];
  for (const auto& row : kRows) {
    std::snprintf(line, sizeof line, "  %-10.*s %.*s\n", static_cast<int>(row.name.size()), row.name.data(),
                  static_cast<int>(row.summary.size()), row.summary.data());
    text += line;
  }
  text +=
      "  version    Print the version\n"
      "  help       This text; `holdfast COMMAND --help` shows a command's options and examples\n\n"
      "Examples:\n"
      "  holdfast run configs/digits.toml\n"
      "  holdfast eval configs/runs/digits --checkpoint best\n\n"
      "Exit codes:\n";
  for (const auto& row : base::exit_codes()) {
    std::snprintf(line, sizeof line, "  %2d  %.*s\n", static_cast<int>(row.code), static_cast<int>(row.meaning.size()),
                  row.meaning.data());
    text += line;
  }
  return text;
}

}  // namespace holdfast::app
