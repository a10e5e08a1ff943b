// CLI11 behind one function: declares each command's options, turns its faults into Error 64 in plain words.
#include "app/command/command_line.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "app/command/help.hpp"
#include "base/text.hpp"

namespace holdfast::app {
namespace {

[[noreturn]] void usage_fault(const std::string& where, const std::string& reason, const std::string& what) {
  throw Error(ExitCode::kUsage, "usage." + reason, where, what, "read `" + where + " --help`");
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const auto near = base::nearest_name(word, known);
  return near ? "; did you mean '" + *near + "'?" : "";
}

void add_sets(CLI::App& app, CommandLine& line) {
  app.add_option("--set", line.sets, "Change one key of the recipe; repeatable")
      ->type_name("TABLE.KEY=VALUE")
      ->allow_extra_args(false);
}

void add_plugin_dirs(CLI::App& app, CommandLine& line) {
  app.add_option("--plugin-dir", line.plugin_dirs, "Look for plugins here too; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

void add_json(CLI::App& app, CommandLine& line, const std::string& what) { app.add_flag("--json", line.json, what); }

void declare_run(CLI::App& app, CommandLine& line, std::string& on_locked, std::string& log_format) {
  app.add_option("SPEC", line.targets, "Recipes, or run folders to continue")->required();
  add_sets(app, line);
  app.add_option("--resume", line.resume, "Where to go on from: auto, never, or a checkpoint's folder")
      ->type_name("auto|never|CHECKPOINT");
  app.add_flag("--new", line.fresh, "Start the next generation, leaving an unfinished one behind");
  app.add_option("--output", line.output, "The run home, instead of the recipe's")->type_name("DIR");
  app.add_option("--on-locked", on_locked, "When another process works in the run home")->type_name("fail|skip|wait");
  app.add_flag("--supervise", line.supervise, "Start again after a failure that may pass; see [supervise]");
  app.add_flag("--retry", line.retry, "Try again although the same run has just failed for good");
  app.add_flag("--quiet,-q", line.quiet, "Print nothing unless something is wrong");
  app.add_option("--log-format", log_format, "What the log on stderr looks like")->type_name("human|json");
  add_plugin_dirs(app, line);
}

void declare_recipe_readers(CLI::App& validate, CLI::App& plan, CommandLine& line) {
  validate.add_option("SPEC", line.targets, "Recipes or run folders")->required();
  add_sets(validate, line);
  validate.add_flag("--data", line.data, "Read every sample once and print a table");
  validate.add_flag("--no-plugins", line.no_plugins, "Load no plugin: their options stay unchecked");
  add_json(validate, line, "Print faults as JSON");
  add_plugin_dirs(validate, line);
  plan.add_option("SPEC", line.targets, "A recipe or a run folder")->required()->expected(1);
  add_sets(plan, line);
  auto* measure = plan.add_flag("--measure", line.measure, "Carry out a few updates and print what they cost");
  plan.add_option("--updates", line.updates, "How many are measured for time; the first one is not counted")
      ->type_name("N")
      ->needs(measure)
      ->check(CLI::Range(2, 1000));
  add_json(plan, line, "Print the plan as JSON");
  add_plugin_dirs(plan, line);
}

void declare_folder_readers(CLI::App& eval, CLI::App& inspect, CLI::App& status, CommandLine& line) {
  eval.add_option("RUN_DIR", line.targets, "A run home, a generation or a checkpoint")->required()->expected(1);
  eval.add_option("--checkpoint", line.checkpoint, "Which weights to evaluate")->type_name("final|best|PATH");
  add_sets(eval, line);
  add_json(eval, line, "Print the scores as JSON");
  add_plugin_dirs(eval, line);
  inspect.add_option("PATH", line.targets, "A checkpoint or a run folder")->required()->expected(1);
  add_json(inspect, line, "Print counters, tensors and digests as JSON");
  status.add_option("DIR", line.targets, "The folder to look below")->required()->expected(1);
  add_json(status, line, "Print the runs as JSON");
}

void declare_checkpoint(CLI::App& app, CommandLine& line) {
  app.add_option("RUN_DIR", line.targets, "The home of a run that is at work")->required()->expected(1);
  app.add_option("--timeout", line.timeout_seconds, "How long to wait for the answer; 0: not at all")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0));
  add_json(app, line, "Print the answer as JSON");
}

void declare_plugin_readers(CLI::App& plugins, CLI::App& schema, CommandLine& line) {
  plugins.add_option("NAME", line.targets, "Show the options of this one")->expected(0, 1);
  plugins.add_option("--check", line.check, "Say whether this file is a plugin that can be loaded")->type_name("FILE");
  add_json(plugins, line, "Print as JSON");
  add_plugin_dirs(plugins, line);
  schema.add_flag("--markdown", line.markdown, "The recipe reference for people, as Markdown");
  schema.add_flag("--no-plugins", line.no_plugins, "The runner's own tables only");
  add_plugin_dirs(schema, line);
}

void declare_diagnosis(CLI::App& why, CLI::App& doctor, CommandLine& line) {
  why.add_option("RUN_DIR", line.targets, "A run home, a generation or a checkpoint")->required()->expected(1);
  why.add_option("--termination-log", line.termination_log, "Write it there too, at most 4096 bytes")
      ->type_name("FILE");
  add_json(why, line, "Print the post-mortem as JSON");
  doctor.add_option("SPEC", line.targets, "Check for this recipe or run folder")->expected(0, 1);
  add_sets(doctor, line);
  add_json(doctor, line, "Print the checks as JSON");
}

void declare_metrics(CLI::App& app, CommandLine& line) {
  app.add_flag_function(
         "--list", [](std::int64_t) {}, "The list of metrics; there is nothing else to ask for")
      ->required();
  auto* markdown = app.add_flag("--markdown", line.markdown, "Print as a Markdown table");
  app.add_flag("--json", line.json, "Print as JSON")->excludes(markdown);
}

void declare_report(CLI::App& app, CommandLine& line) {
  app.add_option("RUN_DIR", line.targets, "A run home, a generation or a checkpoint")->required()->expected(1);
  app.add_option("--output,-o", line.output, "The file to write; - for standard output. Default: RUN_DIR's report.html")
      ->type_name("FILE");
}

/// One word out of a closed set, or a fault that lists the set.
template <class T>
T choose(const std::string& where, const std::string& option, const std::string& word,
         const std::vector<std::pair<std::string, T>>& words) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  usage_fault(where, "choice", option + " is one of " + known + ", got '" + word + "'");
}

[[noreturn]] void explain(const CLI::App& app, const std::string& where, const CLI::ParseError& error,
                          const std::vector<std::string>& arguments) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const auto extras = app.remaining();
    const std::string first = extras.empty() ? arguments.back() : extras.front();
    if (first.size() < 2 || first[0] != '-') usage_fault(where, "extra", "one argument too many: '" + first + "'");
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options())
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
    const std::string word = first.substr(0, first.find('='));
    usage_fault(where, "unknown_option", "there is no option '" + word + "'" + did_you_mean(word, known));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error))
    for (const CLI::Option* option : app.get_options())
      if (option->get_required() && option->count() == 0)
        usage_fault(where, "missing", option->get_name(option->get_positional()) + " is missing");
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional() == false && !arguments.empty() && option->check_name(arguments.back()))
        usage_fault(where, "missing_value", arguments.back() + " needs a value: " + option->get_type_name());
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional() && option->count() > static_cast<std::size_t>(option->get_items_expected_max()))
      usage_fault(where, "extra",
                  "one " + option->get_name(true) + " is wanted, got " + std::to_string(option->count()));
  usage_fault(where, "arguments", error.what());
}

/// CLI11 takes an empty value for none, and the worker would then take the next word for it.
void refuse_empty_values(const CLI::App& app, const std::string& where, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i)
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() || option->get_items_expected_max() == 0) continue;
      for (const auto& name : option->get_lnames()) {
        const std::string word = "--" + name;
        if (arguments[i] == word + "=" ||
            (arguments[i] == word && i + 1 < arguments.size() && arguments[i + 1].empty()))
          usage_fault(where, "empty_value", word + " needs a value, got an empty one: " + option->get_type_name());
      }
    }
}

void check_sets(const CommandLine& line, const std::string& where) {
  for (const auto& set : line.sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      usage_fault(where, "set", "--set wants TABLE.KEY=VALUE, got '" + set + "'");
  }
}

void check_run(const CommandLine& line, const std::string& where) {
  const bool path = line.resume != "auto" && line.resume != "never";
  if (line.targets.size() > 1 && (path || !line.output.empty()))
    usage_fault(where, "one_run",
                std::string(path ? "--resume CHECKPOINT" : "--output") + " is for one run, got " +
                    std::to_string(line.targets.size()) + " recipes");
  if (line.fresh && path) usage_fault(where, "conflict", "--new and --resume " + line.resume + " exclude each other");
}

CommandLine parse_options(const CommandRow& row, const std::vector<std::string>& arguments) {
  const std::string where = "holdfast " + std::string(row.name);
  CommandLine line;
  line.command = row.command;
  std::string on_locked = "fail", log_format = "human";
  CLI::App app{std::string(row.summary), where}, other{"", ""}, unused{"", ""};
  switch (row.command) {
    case Command::kRun:
      declare_run(app, line, on_locked, log_format);
      break;
    case Command::kValidate:
      declare_recipe_readers(app, other, line);
      break;
    case Command::kPlan:
      declare_recipe_readers(other, app, line);
      break;
    case Command::kEval:
      declare_folder_readers(app, other, unused, line);
      break;
    case Command::kInspect:
      declare_folder_readers(other, app, unused, line);
      break;
    case Command::kStatus:
      declare_folder_readers(other, unused, app, line);
      break;
    case Command::kReport:
      declare_report(app, line);
      break;
    case Command::kCheckpoint:
      declare_checkpoint(app, line);
      break;
    case Command::kPlugins:
      declare_plugin_readers(app, other, line);
      break;
    case Command::kSchema:
      declare_plugin_readers(other, app, line);
      break;
    case Command::kMetrics:
      declare_metrics(app, line);
      break;
    case Command::kWhy:
      declare_diagnosis(app, other, line);
      break;
    case Command::kDoctor:
      declare_diagnosis(other, app, line);
      break;
    case Command::kVersion:
    case Command::kHelp:
      break;
  }
  app.get_formatter()->column_width(34);
  app.footer(std::string(row.footer));
  refuse_empty_values(app, where, arguments);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    line.command = Command::kHelp;
    line.help = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    explain(app, where, error, arguments);
  }
  line.on_locked = choose<OnLocked>(where, "--on-locked", on_locked,
                                    {{"fail", OnLocked::kFail}, {"skip", OnLocked::kSkip}, {"wait", OnLocked::kWait}});
  line.json_log = choose<bool>(where, "--log-format", log_format, {{"human", false}, {"json", true}});
  check_sets(line, where);
  check_run(line, where);
  return line;
}

CommandLine version_of(const std::vector<std::string>& arguments) {
  CommandLine line;
  line.command = Command::kVersion;
  for (const auto& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      line.command = Command::kHelp;
      line.help =
          "Print the version of holdfast, of its LibTorch and of the plugin ABI\n\n"
          "Usage: holdfast version [--json]\n\nExample:\n  holdfast version --json\n";
      return line;
    }
    if (argument != "--json")
      usage_fault("holdfast version", "extra",
                  "takes --json and nothing else, got '" + base::shortened(argument) + "'");
    line.json = true;
  }
  return line;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments)  // recipes, status files and logs are UTF-8: it could not be written down
    if (base::valid_utf8(argument) != argument)
      usage_fault("holdfast", "not_utf8", "'" + base::shortened(argument) + "' holds bytes that are not UTF-8");
  CommandLine help;
  help.help = overview();
  if (arguments.empty())
    throw Error(ExitCode::kUsage, "usage.no_command", "holdfast", "which command?", "read `holdfast --help`");
  const std::string& word = arguments.front();
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (word == "--help" || word == "-h" || (word == "help" && rest.empty())) return help;
  if (word == "help") return parse_command_line({rest.front(), "--help"});
  if (word == "--version" || word == "-V" || word == "version") return version_of(rest);
  std::vector<std::string> known;
  for (const auto& row : command_rows()) {
    known.emplace_back(row.name);
    if (row.name != word) continue;
    return parse_options(row, rest);
  }
  if (word.starts_with("-")) usage_fault("holdfast", "option_first", "the command comes first, got '" + word + "'");
  usage_fault("holdfast", "unknown_command", "there is no command '" + word + "'" + did_you_mean(word, known));
}

std::vector<std::string> arguments_of(const CommandLine& line, const std::vector<std::string>& targets) {
  std::vector<std::string> out;
  for (const auto& row : command_rows())
    if (row.command == line.command) out.emplace_back(row.name);
  const auto pair = [&out](const char* option, const std::string& value) {
    out.push_back(std::string(option) + "=" + value);
  };
  for (const auto& set : line.sets) pair("--set", set);
  for (const auto& dir : line.plugin_dirs) pair("--plugin-dir", dir);
  if (line.command == Command::kRun) {
    pair("--resume", line.resume);
    if (!line.output.empty()) pair("--output", line.output);
    const char* words[] = {"fail", "skip", "wait"};
    pair("--on-locked", words[static_cast<int>(line.on_locked)]);
    if (line.json_log) pair("--log-format", "json");
  }
  if (line.command == Command::kEval) pair("--checkpoint", line.checkpoint);
  if (line.measure) pair("--updates", std::to_string(line.updates));
  if (!line.check.empty()) pair("--check", line.check);
  const std::pair<bool, const char*> flags[] = {{line.fresh, "--new"},           {line.quiet, "--quiet"},
                                                {line.json, "--json"},           {line.no_plugins, "--no-plugins"},
                                                {line.data, "--data"},           {line.markdown, "--markdown"},
                                                {line.supervise, "--supervise"}, {line.retry, "--retry"},
                                                {line.measure, "--measure"}};
  for (const auto& [set, name] : flags)
    if (set) out.emplace_back(name);
  if (targets.empty()) return out;
  out.emplace_back("--");
  out.insert(out.end(), targets.begin(), targets.end());
  return out;
}

}  // namespace holdfast::app
