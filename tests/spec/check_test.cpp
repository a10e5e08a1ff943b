// Types and bounds: what is refused, with its exact text.
#include <doctest/doctest.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

/// kHead with another batch_size (line 10, column 14).
std::string with_batch(const std::string& value) {
  std::string text = kHead;
  return text.replace(text.find("64\n\n"), 2, value);
}

std::string at_batch(const std::string& value, const std::string& reason, const std::string& message,
                     const std::string& hint = "") {
  return "r.toml:10:14: error[" + reason + "]: " + message + "\n  batch_size = " + value + "\n               ^" +
         (hint.empty() ? "" : "\n  hint: " + hint);
}

}  // namespace

TEST_CASE("C10: an illegal count is refused with key, value and range") {
  for (const std::string value : {"0", "-1", "1000000001", "9223372036854775807"})
    CHECK(faults(with_batch(value)) ==
          at_batch(value, "recipe.out_of_range", "'train.batch_size' must be between 1 and 1000000000: got " + value));
  CHECK(faults(with_batch("2.5")) ==
        at_batch("2.5", "recipe.wrong_type", "'train.batch_size' must be an integer: got 2.5"));
  CHECK(faults(with_batch("\"4\"")) == at_batch("\"4\"", "recipe.wrong_type",
                                                "'train.batch_size' must be an integer: got the string \"4\"",
                                                "write 4 without quotes"));
  for (const std::string table : {"[checkpoint]\nkeep", "[loader]\nthreads", "[loader]\nprefetch", "[run]\nkeep_runs"})
    for (const std::string value : {"0", "-1", "9223372036854775807"}) {
      const std::string told = faults(kHead + table + " = " + value + "\n");
      CHECK_MESSAGE(told.find("must be between 1 and ") != std::string::npos, told);
      CHECK(told.find(": got " + value + "\n") != std::string::npos);
    }
}

TEST_CASE("C10: a plugin's count is refused the same way") {
  CHECK(faults(kHead + "[strategy.accumulate]\nmicro_batch_size = 0\n") ==
        "r.toml:13:20: error[recipe.out_of_range]: 'strategy.accumulate.micro_batch_size' must be at least 1: got 0\n"
        "  micro_batch_size = 0\n                     ^");
}

TEST_CASE("C86: a number given as text is refused, an exponent is a number, a leading point is none") {
  CHECK(faults(kHead + "[optimizer]\nlr = \"1e-4\"\neps = '1e-08'\n[run]\ndeterministic = \"false\"\n") ==
        "r.toml:13:6: error[recipe.wrong_type]: 'optimizer.lr' must be a number: got the string \"1e-4\"\n"
        "  lr = \"1e-4\"\n       ^\n  hint: write 1e-4 without quotes\n"
        "r.toml:14:7: error[recipe.wrong_type]: 'optimizer.eps' must be a number: got the string '1e-08'\n"
        "  eps = '1e-08'\n        ^\n  hint: write 1e-08 without quotes\n"
        "r.toml:16:17: error[recipe.wrong_type]: 'run.deterministic' must be true or false: got the string \"false\"\n"
        "  deterministic = \"false\"\n                  ^\n  hint: write false without quotes");
  CHECK(read(kHead + "[optimizer]\nlr = 1e-4\n").optimizer.number("lr") == 1e-4);
  CHECK(faults(kHead + "[optimizer]\nlr = .5\n") ==
        "r.toml:13:6: error[recipe.syntax]: this is not TOML: floating-point: expected decimal digit, saw '.'\n"
        "  lr = .5\n       ^");
}

TEST_CASE("C87: integers widen to numbers, nothing else converts") {
  CHECK(read(kHead + "[optimizer]\nlr = 1\nweight_decay = 0\n").optimizer.number("lr") == 1.0);
  CHECK(read(kHead + "[optimizer]\nlr = 1\nweight_decay = 0\n").optimizer.number("weight_decay") == 0.0);
  CHECK(faults(with_batch("32.0")) ==
        at_batch("32.0", "recipe.wrong_type", "'train.batch_size' must be an integer: got 32.0", "write 32"));
  CHECK(faults(with_batch("32.5")) ==
        at_batch("32.5", "recipe.wrong_type", "'train.batch_size' must be an integer: got 32.5"));
  CHECK(faults(with_batch("1e3")) ==
        at_batch("1e3", "recipe.wrong_type", "'train.batch_size' must be an integer: got 1e3", "write 1000"));
  for (const std::string value : {"nan", "inf", "-inf", "+nan"})
    CHECK(faults(kHead + "[optimizer]\nlr = " + value + "\n") ==
          "r.toml:13:6: error[recipe.wrong_type]: 'optimizer.lr' must be a finite number: got " + value +
              "\n  lr = " + value + "\n       ^");
  CHECK(faults(with_batch("nan")) ==
        at_batch("nan", "recipe.wrong_type", "'train.batch_size' must be an integer: got nan"));
  CHECK(faults(kHead + "[run]\nseed = -1\n") ==
        "r.toml:13:8: error[recipe.out_of_range]: 'run.seed' must be at least 0: got -1\n  seed = -1\n         ^");
  CHECK(faults(kHead + "[run]\nseed = 9223372036854775808\n") ==
        "r.toml:13:27: error[recipe.syntax]: this is not TOML: decimal integer: '9223372036854775808' is not "
        "representable in 64 bits\n  seed = 9223372036854775808\n                            ^");
  CHECK(read(kHead + "[run]\nseed = 9223372036854775807\n").run.integer("seed") == 9223372036854775807);
}

TEST_CASE("a value of another kind is named as what it is") {
  CHECK(faults(with_batch("1979-05-27")) ==
        at_batch("1979-05-27", "recipe.wrong_type",
                 "'train.batch_size' must be an integer: got the date or time 1979-05-27"));
  CHECK(faults(with_batch("[64]")) ==
        at_batch("[64]", "recipe.wrong_type", "'train.batch_size' must be an integer: got a list"));
  CHECK(faults(with_batch("{ a = 1 }")) ==
        at_batch("{ a = 1 }", "recipe.wrong_type", "'train.batch_size' must be an integer: got a table"));
  CHECK(faults(with_batch("true")) ==
        at_batch("true", "recipe.wrong_type", "'train.batch_size' must be an integer: got true"));
  CHECK(faults(kHead + "[run]\nname = 3\n") ==
        "r.toml:13:8: error[recipe.wrong_type]: 'run.name' must be a string: got 3\n  name = 3\n         ^");
}

TEST_CASE("items of a list are checked one by one, and their number is") {
  std::string text = kHead;
  text.replace(text.find("[64]"), 4, "[64, 0, \"8\"]");
  CHECK(faults(text) ==
        "r.toml:3:15: error[recipe.out_of_range]: 'model.hidden[1]' must be between 1 and 65536: got 0\n"
        "  hidden = [64, 0, \"8\"]\n                ^\n"
        "r.toml:3:18: error[recipe.wrong_type]: 'model.hidden[2]' must be an integer: got the string \"8\"\n"
        "  hidden = [64, 0, \"8\"]\n                   ^\n  hint: write 8 without quotes");
  text = kHead;
  text.replace(text.find("[64]"), 4, "64");
  CHECK(faults(text) ==
        "r.toml:3:10: error[recipe.wrong_type]: 'model.hidden' must be a list of integers: got 64\n"
        "  hidden = 64\n           ^\n  hint: write [...] around it");
  text = kHead;
  text.replace(text.find("\"data/train-images.gz\""), 22, "[]");
  CHECK(faults(text) ==
        "r.toml:6:10: error[recipe.out_of_range]: 'dataset.train.images' must have at least 1 item: got 0\n"
        "  images = []\n           ^");
}

TEST_CASE("a word outside the choices is answered with the nearest one") {
  CHECK(faults(kHead + "[optimizer]\nname = \"adam\"\n") ==
        "r.toml:13:8: error[recipe.not_a_choice]: 'optimizer.name' must be one of \"adamw\", \"sgd\": got the string "
        "\"adam\"; did you mean \"adamw\"?\n  name = \"adam\"\n         ^");
  CHECK(faults(kHead + "[log]\nlevel = \"loud\"\n") ==
        "r.toml:13:9: error[recipe.not_a_choice]: 'log.level' must be one of \"debug\", \"info\", \"warn\", \"error\": "
        "got the string \"loud\"\n  level = \"loud\"\n          ^");
}

TEST_CASE("a quantity without its unit is refused with an example") {
  CHECK(faults(kHead + "[run]\ngrace = 25\n") ==
        "r.toml:13:9: error[recipe.wrong_type]: 'run.grace' must be a duration with a unit, as a string: got 25\n"
        "  grace = 25\n          ^\n"
        "  hint: write for example \"90 s\", \"10 min\" or \"24 h\" (units: ms, s, min, h, d)");
  CHECK(faults(kHead + "[train.x]\n").find("unknown_key") != std::string::npos);
  CHECK(faults(kHead + "[run]\ngrace = \"0.5 s\"\n") ==
        "r.toml:13:9: error[recipe.out_of_range]: 'run.grace' must be between 1 s and 24 h: got the string \"0.5 s\"\n"
        "  grace = \"0.5 s\"\n          ^");
  CHECK(faults(kHead + "[hook.periodic_checkpoint]\nevery = \"5 steps\"\n") ==
        "r.toml:13:9: error[recipe.bad_quantity]: 'hook.periodic_checkpoint.every' must be an interval: the string "
        "\"5 steps\" has the unknown unit 'steps'\n  every = \"5 steps\"\n          ^\n"
        "  hint: write for example \"500 updates\", \"1 epoch\" or \"10 min\" (units: updates, epochs, s, min, h, d)");
  CHECK(
      faults(kHead + "[dataset.eval]\nplugin = \"mix\"\ncache = \"-1 B\"\n") ==
      "r.toml:14:9: error[recipe.bad_quantity]: 'dataset.eval.cache' must be a size: the string \"-1 B\" is negative\n"
      "  cache = \"-1 B\"\n          ^\n"
      "  hint: write for example \"512MiB\" or \"2GB\" (units: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)");
}

TEST_CASE("an unknown key is answered with the nearest name, its right table, or the keys there are") {
  CHECK(faults(kHead + "[loader]\nthread = 3\n") ==
        "r.toml:13:1: error[recipe.unknown_key]: no such key in [loader]: got 'thread'; did you mean 'threads'?\n"
        "  thread = 3\n  ^");
  CHECK(faults(kHead + "[loader]\nlr = 3\n") ==
        "r.toml:13:1: error[recipe.unknown_key]: no such key in [loader]: got 'lr'\n  lr = 3\n  ^\n"
        "  hint: 'lr' belongs in [optimizer]");
  CHECK(faults(kHead + "[loader]\nwhatever = 3\n") ==
        "r.toml:13:1: error[recipe.unknown_key]: no such key in [loader]: got 'whatever'\n  whatever = 3\n  ^\n"
        "  hint: its keys are threads, prefetch");
  CHECK(faults(kHead + "[strategy.amp]\nscaler = { grow = 1 }\n") ==
        "r.toml:13:12: error[recipe.unknown_key]: no such key in [strategy.amp.scaler]: got 'grow'; did you mean "
        "'growth'?\n  scaler = { grow = 1 }\n             ^");
  CHECK(
      faults("[models]\n" + kHead) ==
      "r.toml:1:2: error[recipe.unknown_table]: no such table: got 'models'; did you mean 'model'?\n  [models]\n   ^");
  CHECK(
      faults("[zzz]\n" + kHead) ==
      "r.toml:1:2: error[recipe.unknown_table]: no such table: got 'zzz'\n  [zzz]\n   ^\n  hint: the tables are model, "
      "dataset, strategy, hook, run, loader, train, optimizer, schedule, memory, checkpoint, supervise, metrics, log, "
      "plugins");
  CHECK(faults("seed = 3\n" + kHead) ==
        "r.toml:1:1: error[recipe.unknown_key]: the key 'seed' stands outside of every table\n  seed = 3\n  ^\n"
        "  hint: 'seed' belongs in [run]");
}

TEST_CASE("a control character in a key does not reach the terminal") {
  CHECK(faults(kHead + "[loader]\n\"\\u001b[2J\" = 3\n").find('\x1b') == std::string::npos);
  CHECK(faults(kHead + "[loader]\n\"\\u001b[2J\" = 3\n").find("got '\\x1b[2J'") != std::string::npos);
}
