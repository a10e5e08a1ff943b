// Paths and ${NAME} references: where they start, what they become, what is never shown.
#include <doctest/doctest.h>

#include "spec/check.hpp"
#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;
namespace fs = std::filesystem;

namespace {

std::string labels(const Recipe& recipe) { return recipe.train_data->options.path("labels"); }

std::string with_labels(const std::string& value) {
  std::string text = kHead;
  return text.replace(text.find("\"data/train-labels.gz\""), 22, value);
}

Trial with_environment(std::map<std::string, std::string> variables) {
  Trial trial;
  trial.environment = [variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return trial;
}

}  // namespace

TEST_CASE("C92: paths of a recipe start at its folder, those of the command line at the current one") {
  const Recipe recipe = read(with_labels("\"../x/./l.gz\""));
  CHECK(labels(recipe) == fs::path(recipe.folder).parent_path().string() + "/x/l.gz");
  Trial trial;
  trial.overrides = {{"dataset.train.labels", "d/l.gz"}, {"run.output", "../out"}};
  const Recipe overridden = read(kHead, trial);
  CHECK(labels(overridden) == "/work/d/l.gz");
  CHECK(overridden.run.path("output") == "/out");
  CHECK(overridden.train_data->options.strings("images")[0] == overridden.folder + "/data/train-images.gz");
  CHECK(read(kHead + "[run]\noutput = \"/abs//o/\"\n").run.path("output") == "/abs/o");
  const Recipe init = read("[model]\ninit = \"w.safetensors\"\n" + kHead.substr(8));
  CHECK(init.model_init == init.folder + "/w.safetensors");
  const Recipe search = read(kHead + "[plugins]\nsearch = [\"p\", \"/q\"]\n");
  CHECK(search.plugins.strings("search") == std::vector<std::string>{search.folder + "/p", "/q"});
}

TEST_CASE("C92: a recipe that is a symbolic link keeps the folder of the path as given") {
  const Folder folder;
  const std::string real = folder.write("real/r.toml", kHead);
  fs::create_directories(folder.path() + "/links");
  fs::create_symlink(real, folder.path() + "/links/r.toml");
  CHECK(read_recipe(folder.path() + "/links/r.toml", {}).folder == folder.path() + "/links");
}

TEST_CASE("C92: the folder of a relative recipe path starts at the current folder") {
  const Folder folder;
  const std::string path = folder.write("a/r.toml", kHead);
  ReadOptions options;
  options.working_folder = fs::current_path().string();
  const Recipe recipe = read_recipe(fs::relative(path).string(), options);
  CHECK(fs::canonical(recipe.folder) == fs::path(folder.path() + "/a"));
}

TEST_CASE("C92: '..' behind a symbolic link means what the system makes of it") {
  const Folder folder;
  fs::create_directories(folder.path() + "/deep/inner");
  fs::create_symlink(folder.path() + "/deep/inner", folder.path() + "/link");
  CHECK(absolute_path(folder.path(), "deep/inner/../x") == folder.path() + "/deep/x");
  CHECK(fs::weakly_canonical(absolute_path(folder.path(), "link/../x")) == fs::path(folder.path() + "/deep/x"));
  CHECK(absolute_path("/a", "../../../b") == "/b");
  CHECK(absolute_path("/a/b", ".") == "/a/b");
  CHECK(absolute_path("/", ".") == "/");
}

TEST_CASE("a path that cannot be one is refused") {
  CHECK(faults(with_labels("\"\"")) ==
        "r.toml:7:10: error[recipe.bad_path]: 'dataset.train.labels' must be a path: the string \"\" is empty\n"
        "  labels = \"\"\n           ^");
  CHECK(
      faults(with_labels("\"~/l\"")) ==
      "r.toml:7:10: error[recipe.bad_path]: 'dataset.train.labels' must be a path: the string \"~/l\" begins with '~', "
      "which only a shell replaces\n  labels = \"~/l\"\n           ^\n  hint: write ${HOME} instead of ~");
  CHECK(faults(with_labels("\"a\\u0000b\"")) ==
        "r.toml:7:10: error[recipe.bad_path]: 'dataset.train.labels' must be a path: the string \"a\\u0000b\" holds a "
        "NUL "
        "character\n  labels = \"a\\u0000b\"\n           ^");
}

TEST_CASE("a reference is replaced for the program and kept in the effective recipe") {
  const Trial trial = with_environment({{"DATA", "/mnt/secret"}, {"SUB", "secret"}, {"GRACE", "40 s"}});
  const Recipe recipe = read(with_labels("\"${DATA}/l\"") +
                                 "[run]\nname = \"n-${SUB}\"\ngrace = \"${GRACE}\"\n[dataset.eval]\nplugin = \"idx\"\n"
                                 "images = [\"${SUB}/i\"]\nlabels = \"$${SUB}\"\n",
                             trial);
  CHECK(labels(recipe) == "/mnt/secret/l");
  CHECK(recipe.run.string("name") == "n-secret");
  CHECK(recipe.run.path("output") == recipe.folder + "/runs/n-secret");
  CHECK(recipe.run.duration("grace") == std::chrono::seconds(40));
  CHECK(recipe.eval_data->options.strings("images")[0] == recipe.folder + "/secret/i");
  CHECK(recipe.eval_data->options.path("labels") == recipe.folder + "/${SUB}");
  const std::string& toml = recipe.effective_toml;
  CHECK(toml.find("secret") == std::string::npos);
  CHECK(toml.find("40 s") == std::string::npos);
  CHECK(toml.find("labels = \"${DATA}/l\"") != std::string::npos);
  CHECK(toml.find("output = \"" + recipe.folder + "/runs/n-${SUB}\"") != std::string::npos);
  CHECK(toml.find("images = [\"" + recipe.folder + "/${SUB}/i\"]") != std::string::npos);
  CHECK(toml.find("labels = \"$" + recipe.folder.substr(0, 0) + "$") == std::string::npos);
}

TEST_CASE("a variable that is not set, or a reference without an end, is a fault") {
  CHECK(
      faults(with_labels("\"${DATA}/l\"")) ==
      "r.toml:7:10: error[recipe.unset_variable]: 'dataset.train.labels' names the environment variable 'DATA', which "
      "is not set\n  labels = \"${DATA}/l\"\n           ^\n  hint: export DATA, or write the value");
  for (const std::string text : {"\"${DATA\"", "\"${}\"", "\"${1A}\"", "\"${A B}\""})
    CHECK(faults(with_labels(text), with_environment({{"DATA", "x"}})) ==
          "r.toml:7:10: error[recipe.bad_reference]: 'dataset.train.labels' holds a '${' that begins no reference\n"
          "  labels = " +
              text + "\n           ^\n  hint: write ${NAME} for a variable, $${ for the two characters");
  CHECK(read(kHead + "[run]\nname = \"a$b$\"\n").run.string("name") == "a$b$");
}

TEST_CASE("an expanded value never reaches an error text") {
  const Trial trial = with_environment({{"X", "s3cr3t"}, {"Y", "1 s3cr3t"}, {"Z", "../s3cr3t"}});
  for (const std::string table :
       {"[run]\ngrace = \"${X}\"", "[run]\ngrace = \"${Y}\"", "[optimizer]\nname = \"${X}\"",
        "[run]\ndevice = \"${X}\"", "[run]\nname = \"${Z}\"", "[checkpoint]\nbest = \"${X}\"",
        "[memory]\non_oom = [\"${X}\"]", "[strategy.a]\nplugin = \"${X}\"", "[log]\nlevel = \"${X}\"",
        "[optimizer]\nlr = \"${X}\"", "[strategy.amp]\ndtype = \"${X}\"", "[checkpoint]\nkeep_every = \"${Y}\"",
        "[run]\ndeterministic = \"${X}\""}) {
    const std::string told = faults(kHead + table + "\n", trial);
    CHECK_MESSAGE(told.find("error[recipe.") != std::string::npos, told);
    CHECK_MESSAGE(told.find("s3cr3t") == std::string::npos, told);
  }
}

TEST_CASE("a path with control characters or bytes that are not UTF-8 is refused, wherever it comes from") {
  CHECK(faults(kHead + "[run]\noutput = \"o/\\u001b]0;pwned\\u0007z\"\n")
            .starts_with("r.toml:13:10: error[recipe.bad_path]: 'run.output' must be a path: the string "
                         "\"o/\\u001b]0;pwned\\u0007z\" holds a control character\n"));
  CHECK(faults(with_labels("\"a\\u202eb\"")).find("holds a control character") != std::string::npos);
  Trial trial;
  trial.overrides = {{"run.output", "o\xfe"}};
  CHECK(faults(kHead, trial) ==
        "--set run.output=o\\xfe: error[recipe.bad_path]: 'run.output' must be a path: the string \"o\\xfe\" holds "
        "bytes that are "
        "not UTF-8, which no recipe can hold\n  hint: rename the file or folder");
  CHECK(faults(with_labels("\"${V}\""), with_environment({{"V", "a\nb"}})).find("holds a control character") !=
        std::string::npos);
  const Folder folder;
  const std::string odd = folder.write("odd\xfe/r.toml", kHead);
  FakeCatalog catalog;
  ReadOptions options;
  options.catalog = &catalog;
  try {
    read_recipe(odd, options);
    FAIL("no fault");
  } catch (const Faults& error) {
    CHECK(
        error.message() ==
        "'dataset.train.images' starts at a folder whose name holds a control character or bytes that are not UTF-8: " +
            folder.path() + "/odd\\xfe");
  }
}
