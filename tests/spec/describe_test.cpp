// Option tables for people and editors: descriptions, the JSON Schema, rendered faults.
#include "spec/describe.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "spec/fake_catalog.hpp"
#include "spec/tables.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;
using nlohmann::json;

namespace {

OptionTable sample() {
  OptionTable inner;
  inner.number("rate", 0.5).above(0).below(1).doc("Share | kept.");
  OptionTable t;
  t.integers("hidden", {128}).min(1).max(65536).min_items(1).doc("Widths.");
  t.path("images").or_one().required().doc("Files.");
  t.string("mode", "a").one_of({"a", "b"});
  t.duration("wait").min(1).max(3600).doc("Time.");
  t.size("room", Bytes{1 << 20}).min(1024).doc("Bytes.");
  t.interval("every", Interval{Interval::Unit::kEpochs, 1, {}});
  t.boolean("fast", false);
  t.table("noise", std::move(inner)).doc("Noise.");
  return t;
}

/// Every object with "type": "object" is closed or says what else it takes.
void check_closed(const json& node) {
  if (node.is_object()) {
    if (node.contains("type") && node["type"] == "object")
      CHECK_MESSAGE((node.contains("additionalProperties") || node.contains("allOf")), node.dump());
    if (node.contains("properties"))
      for (const auto& [key, option] : node["properties"].items())
        if (option.contains("type") || option.contains("anyOf") || option.contains("not"))  // others only narrow
          CHECK_MESSAGE(option.contains("description"), key);
  }
  if (node.is_structured())
    for (const json& child : node) check_closed(child);
}

}  // namespace

TEST_CASE("an option table reads as plain text") {
  CHECK(describe(sample()) ==
        "hidden  list of integers, each between 1 and 65536; at least 1 item; default [128]\n    Widths.\n"
        "images  path or list of paths; required\n    Files.\n"
        "mode  string, one of \"a\", \"b\"; default \"a\"\n"
        "wait  duration, between 1 s and 1 h; not set\n    Time.\n"
        "room  size, at least 1KiB; default \"1MiB\"\n    Bytes.\n"
        "every  interval; default \"1 epoch\"\n"
        "fast  boolean; default false\n"
        "noise  table; not set\n    Noise.\n"
        "noise.rate  number, above 0 and below 1; default 0.5\n    Share | kept.\n");
  CHECK(describe(OptionTable()) == "(no options)\n");
}

TEST_CASE("an option table reads as Markdown, pipes escaped") {
  CHECK(describe_markdown(sample()) ==
        "| option | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
        "| `hidden` | list of integers | `[128]` | each between 1 and 65536; at least 1 item | Widths. |\n"
        "| `images` | path or list of paths | required |  | Files. |\n"
        "| `mode` | string | `\"a\"` | one of \"a\", \"b\" |  |\n"
        "| `wait` | duration | not set | between 1 s and 1 h | Time. |\n"
        "| `room` | size | `\"1MiB\"` | at least 1KiB | Bytes. |\n"
        "| `every` | interval | `\"1 epoch\"` |  |  |\n"
        "| `fast` | boolean | `false` |  |  |\n"
        "| `noise` | table | not set |  | Noise. |\n"
        "| `noise.rate` | number | `0.5` | above 0 and below 1 | Share \\| kept. |\n");
}

TEST_CASE("every key of the runner has a description, and every default passes its own check") {
  for (const RunnerTable& table : runner_tables())
    for (const auto& spec : table.keys->specs()) CHECK_MESSAGE(!spec->help.empty(), spec->name);
  for (const PluginPlace& place : plugin_places())
    for (const auto& spec : place.keys->specs()) CHECK_MESSAGE(!spec->help.empty(), spec->name);
}

TEST_CASE("the schema is JSON, closed, the same each time, and knows every table, key, bound and default") {
  FakeCatalog catalog;
  const std::string text = json_schema(&catalog);
  CHECK(text == json_schema(&catalog));
  const json schema = json::parse(text);
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["additionalProperties"] == false);
  check_closed(schema);
  const json& tables = schema["properties"];
  for (const RunnerTable& table : runner_tables())
    for (const auto& spec : table.keys->specs())
      CHECK_MESSAGE(tables[std::string(table.name)]["properties"][spec->name].contains("description"), spec->name);
  const json& train = tables["train"];
  CHECK(train["properties"]["batch_size"] == json::parse(R"({"type": "integer", "minimum": 1, "maximum": 1000000000,
                                                            "description": "Samples per optimizer update."})"));
  CHECK(train["required"] == json::parse(R"(["batch_size"])"));
  CHECK(train["oneOf"] == json::parse(R"([{"required": ["epochs"]}, {"required": ["updates"]}])"));
  CHECK(train["properties"]["early_stop"]["required"] == json::parse(R"(["metric", "mode", "patience"])"));
  CHECK(tables["optimizer"]["properties"]["betas"]["items"] ==
        json::parse(R"({"type": "number", "minimum": 0.0, "exclusiveMaximum": 1.0})"));
  CHECK(tables["optimizer"]["properties"]["betas"]["default"] == json::parse("[0.9, 0.999]"));
  CHECK(tables["optimizer"]["properties"]["lr"]["exclusiveMinimum"] == 0.0);
  CHECK(tables["run"]["properties"]["grace"]["default"] == "25 s");
  CHECK(tables["metrics"]["dependencies"] == json::parse(R"({"password_file": ["push"]})"));
  CHECK(schema["required"] == json::parse(R"(["model", "dataset", "train"])"));
}

TEST_CASE("plugin tables of the schema follow the plugin's name") {
  FakeCatalog catalog;
  const json tables = json::parse(json_schema(&catalog))["properties"];
  CHECK(tables["model"]["properties"]["plugin"]["anyOf"][0]["enum"] == json::parse(R"(["mlp"])"));
  CHECK(tables["model"]["properties"]["plugin"]["pattern"] == "^[a-z0-9_]{1,63}$");
  const json& mlp = tables["model"]["allOf"][0];
  CHECK(mlp["if"] == json::parse(R"({"properties": {"plugin": {"const": "mlp"}}, "required": ["plugin"]})"));
  CHECK(mlp["then"]["additionalProperties"] == false);
  CHECK(mlp["then"]["properties"]["dropout"]["exclusiveMaximum"] == 1.0);
  CHECK(mlp["then"]["properties"].contains("init"));
  const json& amp = tables["strategy"]["properties"]["amp"];
  CHECK(amp["if"] == json::parse(R"({"required": ["plugin"]})"));
  CHECK(amp["else"]["properties"]["dtype"]["anyOf"] ==
        json::parse(R"([{"enum": ["bf16", "fp16"]}, {"pattern": "\\$\\{"}])"));
  CHECK(amp["else"]["additionalProperties"] == false);
  CHECK(tables["strategy"]["propertyNames"]["pattern"] == "^[A-Za-z0-9_-]{1,64}$");
  CHECK(tables["dataset"]["properties"]["train"]["allOf"][0]["then"]["properties"]["images"]["anyOf"].size() == 2);
}

TEST_CASE("the schema knows all plugins, unless the recipe searches for more") {
  FakeCatalog catalog;
  const json rule = json::parse(json_schema(&catalog))["allOf"].back();
  CHECK(rule["if"] == json::parse(R"({"not": {"required": ["plugins"],
                                              "properties": {"plugins": {"required": ["search"]}}}})"));
  const json& places = rule["then"]["properties"];
  CHECK(places["model"] == json::parse(R"({"properties": {"plugin": {"enum": ["mlp"]}}})"));
  CHECK(places["dataset"]["properties"]["eval"]["properties"]["plugin"]["enum"] == json::parse(R"(["idx", "mix"])"));
  CHECK(places["hook"]["additionalProperties"]["required"] == json::parse(R"(["plugin"])"));
  CHECK(places["hook"]["properties"]["skip_corrupt"]["properties"]["plugin"]["enum"] ==
        json::parse(R"(["memory_guard", "oom_checkpoint", "periodic_checkpoint", "skip_corrupt"])"));
}

TEST_CASE("the schema says the rules between keys that it can say") {
  FakeCatalog catalog;
  const json schema = json::parse(json_schema(&catalog));
  const json& optimizer = schema["properties"]["optimizer"]["allOf"];
  CHECK(optimizer[0]["then"] == json::parse(R"({"properties": {"betas": false, "eps": false}})"));
  CHECK(optimizer[1]["if"] == json::parse(R"({"properties": {"name": {"const": "adamw"}}})"));
  CHECK(optimizer[2]["then"]["required"] == json::parse(R"(["momentum"])"));
  CHECK(schema["properties"]["schedule"]["allOf"][0]["then"] == json::parse(R"({"properties": {"min_lr": false}})"));
  CHECK(schema["allOf"][0]["then"] == json::parse(R"({"properties": {"dataset": {"required": ["eval"]}}})"));
}

TEST_CASE("without a catalog the schema leaves plugin tables open") {
  CHECK(json::parse(json_schema(nullptr))["allOf"].size() == 1);
  const json tables = json::parse(json_schema(nullptr))["properties"];
  CHECK(tables["model"]["additionalProperties"] == true);
  CHECK(tables["model"]["properties"].contains("plugin"));
  CHECK(tables["strategy"]["additionalProperties"]["properties"].contains("enabled"));
}

TEST_CASE("a fault is shown with its line, a caret and a hint") {
  Diagnostic fault{"r.toml", 3, 6, "recipe.x", "is wrong", "\t\xC3\xA9 = 1", "do this"};
  CHECK(render(fault) == "r.toml:3:6: error[recipe.x]: is wrong\n  \t\xC3\xA9 = 1\n  \t    ^\n  hint: do this");
  fault.column = 0;
  CHECK(render(fault) == "r.toml:3: error[recipe.x]: is wrong\n  \t\xC3\xA9 = 1\n  hint: do this");
  fault = {"r.toml", 0, 0, "recipe.x", "is wrong", "", ""};
  CHECK(render(fault) == "r.toml: error[recipe.x]: is wrong");
  fault = {"r.toml", 1, 300, "recipe.x", "is wrong", std::string(400, 'a'), ""};
  CHECK(render(fault) == "r.toml:1:300: error[recipe.x]: is wrong\n  " + std::string(160, 'a') + "...");
}
