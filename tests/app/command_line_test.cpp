#include "app/command/command_line.hpp"

#include <doctest/doctest.h>

#include <array>

#include "app/command/help.hpp"
#include "base/exit_codes.hpp"

using namespace holdfast;
using namespace holdfast::app;

namespace {

std::string fault(const std::vector<std::string>& arguments) {
  try {
    parse_command_line(arguments);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("run takes several recipes, and options on either side of them") {
  const auto line = parse_command_line({"run", "--set", "optimizer.lr=1e-3", "a.toml", "b.toml", "--quiet", "--set",
                                        "train.epochs=2", "--on-locked=wait", "--log-format", "json"});
  CHECK(line.command == Command::kRun);
  CHECK(line.targets == std::vector<std::string>{"a.toml", "b.toml"});
  CHECK(line.sets == std::vector<std::string>{"optimizer.lr=1e-3", "train.epochs=2"});
  CHECK(line.quiet);
  CHECK(line.json_log);
  CHECK(line.on_locked == OnLocked::kWait);
  CHECK(line.resume == "auto");
}

TEST_CASE("a worker's arguments read back as the same command for one target") {
  const auto line = parse_command_line(
      {"run", "a.toml", "b.toml", "--set", "run.name=x y", "--new", "--on-locked", "skip", "--plugin-dir", "p"});
  const auto back = parse_command_line(arguments_of(line, {"-odd name.toml"}));
  CHECK(back.targets == std::vector<std::string>{"-odd name.toml"});
  CHECK(back.sets == line.sets);
  CHECK(back.fresh);
  CHECK(back.on_locked == OnLocked::kSkip);
  CHECK(back.plugin_dirs == std::vector<std::string>{"p"});
}

TEST_CASE("resume and output reach the worker of a single run") {
  const auto line = parse_command_line({"run", "a.toml", "--resume", "c/update-5", "--output", "out"});
  const auto back = parse_command_line(arguments_of(line, line.targets));
  CHECK(back.resume == "c/update-5");
  CHECK(back.output == "out");
}

TEST_CASE("options that exclude each other are refused") {
  CHECK(fault({"run", "a.toml", "b.toml", "--output", "x"}) ==
        "holdfast run: error[usage.one_run]: --output is for one run, got 2 recipes\n  hint: read `holdfast run "
        "--help`");
  CHECK(fault({"run", "a.toml", "--new", "--resume", "c"}) ==
        "holdfast run: error[usage.conflict]: --new and --resume c exclude each other\n  hint: read `holdfast run "
        "--help`");
}

TEST_CASE("an unknown command, option or word is answered with the nearest one") {
  CHECK(fault({"trian"}) ==
        "holdfast: error[usage.unknown_command]: there is no command 'trian'\n  hint: read `holdfast --help`");
  CHECK(fault({"inspct", "x"}) ==
        "holdfast: error[usage.unknown_command]: there is no command 'inspct'; did you mean 'inspect'?\n  hint: read "
        "`holdfast --help`");
  CHECK(fault({"run", "a.toml", "--resum", "never"}) ==
        "holdfast run: error[usage.unknown_option]: there is no option '--resum'; did you mean '--resume'?\n  hint: "
        "read `holdfast run --help`");
  CHECK(
      fault({"run", "a.toml", "--on-locked", "never"}) ==
      "holdfast run: error[usage.choice]: --on-locked is one of fail, skip, wait, got 'never'\n  hint: read `holdfast "
      "run --help`");
}

TEST_CASE("what is missing or too much is named") {
  CHECK(fault({}) == "holdfast: error[usage.no_command]: which command?\n  hint: read `holdfast --help`");
  CHECK(fault({"run"}) == "holdfast run: error[usage.missing]: SPEC is missing\n  hint: read `holdfast run --help`");
  CHECK(fault({"run", "a.toml", "--output"}) ==
        "holdfast run: error[usage.missing_value]: --output needs a value: DIR\n  hint: read `holdfast run --help`");
  CHECK(fault({"inspect", "a", "b"}) ==
        "holdfast inspect: error[usage.extra]: one PATH is wanted, got 2\n  hint: read `holdfast inspect --help`");
  CHECK(fault({"run", "a.toml", "--set", "lr"}) ==
        "holdfast run: error[usage.set]: --set wants TABLE.KEY=VALUE, got 'lr'\n  hint: read `holdfast run --help`");
  CHECK(fault({"--quiet", "run"}) ==
        "holdfast: error[usage.option_first]: the command comes first, got '--quiet'\n  hint: read `holdfast --help`");
}

TEST_CASE("the version takes --json and nothing else") {
  CHECK(parse_command_line({"version"}).command == Command::kVersion);
  CHECK(parse_command_line({"--version", "--json"}).json);
  CHECK(parse_command_line({"version", "--help"}).help.find("Example") != std::string::npos);
  CHECK(fault({"version", "please"}) ==
        "holdfast version: error[usage.extra]: takes --json and nothing else, got 'please'\n  hint: read `holdfast "
        "version --help`");
}

TEST_CASE("a plan is measured with the number of updates that was asked for") {
  CHECK_FALSE(parse_command_line({"plan", "a.toml"}).measure);
  CHECK(parse_command_line({"plan", "a.toml", "--measure"}).updates == 3);
  const auto line = parse_command_line({"plan", "a.toml", "--measure", "--updates", "12"});
  CHECK(line.measure);
  const auto back = parse_command_line(arguments_of(line, line.targets));
  CHECK(back.measure);
  CHECK(back.updates == 12);
  CHECK(fault({"plan", "a.toml", "--measure", "--updates", "1"}) ==
        "holdfast plan: error[usage.arguments]: --updates: Value 1 not in range 2 to 1000\n"
        "  hint: read `holdfast plan --help`");
  CHECK(fault({"plan", "a.toml", "--updates", "4"}) ==
        "holdfast plan: error[usage.arguments]: --updates requires --measure\n  hint: read `holdfast plan --help`");
}

TEST_CASE("supervision and diagnosis have options of their own") {
  const auto run = parse_command_line({"run", "a.toml", "--supervise", "--retry"});
  CHECK(run.supervise);
  CHECK(run.retry);
  const auto again = parse_command_line(arguments_of(run, run.targets));
  CHECK(again.supervise);
  CHECK(again.retry);
  const auto why = parse_command_line({"why", "home", "--json", "--termination-log", "/dev/termination-log"});
  CHECK(why.json);
  CHECK(why.termination_log == "/dev/termination-log");
  CHECK(parse_command_line({"doctor"}).targets.empty());
  CHECK(parse_command_line({"doctor", "a.toml", "--set", "run.device=cuda"}).sets.size() == 1);
  CHECK(fault({"doctor", "a", "b"}) ==
        "holdfast doctor: error[usage.extra]: one SPEC is wanted, got 2\n  hint: read `holdfast doctor --help`");
}

TEST_CASE("every command has a help with options and an example, and the overview lists the exit codes") {
  for (const auto& row : command_rows()) {
    const auto line = parse_command_line({std::string(row.name), "--help"});
    CHECK(line.command == Command::kHelp);
    CHECK(line.help.find("Example") != std::string::npos);
    CHECK(line.help.find("  holdfast " + std::string(row.name)) != std::string::npos);
    CHECK(parse_command_line({"help", std::string(row.name)}).help == line.help);
    CHECK(overview().find(row.name) != std::string::npos);
  }
  for (const auto& code : base::exit_codes()) CHECK(overview().find(code.meaning) != std::string::npos);
}

TEST_CASE("an empty value is refused in words for every option that takes one") {
  const auto words = [](const std::string& command, const std::string& option, const std::string& type) {
    return "holdfast " + command + ": error[usage.empty_value]: " + option +
           " needs a value, got an empty one: " + type + "\n  hint: read `holdfast " + command + " --help`";
  };
  const std::vector<std::array<std::string, 4>> cases = {
      {"run", "--resume", "auto|never|CHECKPOINT", "a.toml"}, {"run", "--output", "DIR", "a.toml"},
      {"run", "--set", "TABLE.KEY=VALUE", "a.toml"},          {"run", "--on-locked", "fail|skip|wait", "a.toml"},
      {"run", "--log-format", "human|json", "a.toml"},        {"run", "--plugin-dir", "DIR", "a.toml"},
      {"eval", "--checkpoint", "final|best|PATH", "home"},    {"plugins", "--check", "FILE", "mlp"}};
  for (const auto& [command, option, type, target] : cases) {
    CAPTURE(option);
    CHECK(fault({command, option, "", target}) == words(command, option, type));
    CHECK(fault({command, target, option + "="}) == words(command, option, type));
  }
  CHECK(fault({"run", "a.toml", "--", "--resume="}) == "no fault");
}

TEST_CASE("the form of the log is known before the command line is checked") {
  CHECK(wants_json_log({"run", "--log-format", "json", "--bad"}));
  CHECK(wants_json_log({"run", "--bad", "--log-format=json"}));
  CHECK_FALSE(wants_json_log({"run", "--log-format"}));
  CHECK_FALSE(wants_json_log({"run", "--log-format=json", "--log-format", "human"}));
  CHECK_FALSE(wants_json_log({"run", "--", "--log-format=json"}));
}
