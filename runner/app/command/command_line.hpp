// What the user asked for, parsed: one value for all commands, shared by the front and the worker. Owner of CLI11.
// Torch-free; knows no recipe and no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::app {

enum class Command {
  kRun,
  kValidate,
  kPlan,
  kEval,
  kInspect,
  kCheckpoint,
  kStatus,
  kReport,
  kPlugins,
  kSchema,
  kMetrics,
  kWhy,
  kDoctor,
  kVersion,
  kHelp
};
enum class OnLocked { kFail, kSkip, kWait };

struct CommandLine {
  Command command = Command::kHelp;
  std::vector<std::string> targets;      ///< SPEC..., RUN_DIR, PATH, DIR or plugin NAME
  std::vector<std::string> sets;         ///< --set a.b=v, unparsed
  std::vector<std::string> plugin_dirs;  ///< --plugin-dir
  std::string resume = "auto";           ///< auto, never or the path of a checkpoint
  std::string output;                    ///< --output: the run home (empty: the recipe's), or the report's file
  std::string checkpoint = "final";      ///< eval: final, best or a path
  std::string check;                     ///< plugins --check FILE
  OnLocked on_locked = OnLocked::kFail;
  double timeout_seconds = 60;  ///< checkpoint: how long to wait for the answer
  bool fresh = false;           ///< --new
  bool quiet = false;           ///< nothing on success
  bool json_log = false;        ///< --log-format json
  bool json = false;            ///< --json
  bool no_plugins = false;      ///< validate --no-plugins
  bool data = false;            ///< validate --data
  bool markdown = false;        ///< schema, metrics --markdown
  bool supervise = false;       ///< run --supervise
  bool retry = false;           ///< run --retry: try again what has just failed for good
  std::string termination_log;  ///< why --termination-log FILE
  bool measure = false;         ///< plan --measure
  std::int64_t updates = 3;     ///< plan --measure --updates N
  std::string help;             ///< kHelp: the text to print
};

/// Parses the arguments after the program's name. Options may stand before or after SPEC. `--help` gives kHelp with the
/// text. Throws Error 64 whose hint names the help to read.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

/// Whether these arguments ask for a JSON log, told without checking any of them: a fault of the command line itself is
/// printed in the form that was asked for.
bool wants_json_log(const std::vector<std::string>& arguments);

/// The arguments that make the same command for these targets: parse_command_line reads them back. Used to start a
/// worker.
std::vector<std::string> arguments_of(const CommandLine& line, const std::vector<std::string>& targets);

}  // namespace holdfast::app
