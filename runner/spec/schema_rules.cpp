// Formats and rules that no option type expresses. What compares two numbers, counts bytes or looks at the machine is
// left to the checks: draft-07 has no words for it.
#include "spec/schema_rules.hpp"

#include "spec/tables.hpp"

namespace holdfast::spec {
namespace {

/// The key is there and has this value.
Json chosen(const char* key, const Json& value) {
  return {{"properties", {{key, {{"const", value}}}}}, {"required", {key}}};
}

/// The key has this value or, as by default, is not there.
Json chosen_or_absent(const char* key, const Json& value) { return {{"properties", {{key, {{"const", value}}}}}}; }

Json forbidden(std::initializer_list<const char*> keys) {
  Json out = Json::object();
  for (const char* key : keys) out["properties"][key] = false;
  return out;
}

void run(Json& table) {
  Json& properties = table["properties"];
  // Usable as a folder's name. The limit counts bytes, which are never fewer than characters.
  properties["name"]["pattern"] =
      anchored_pattern(R"([^/. \x00-\x1f\x7f]([^/\x00-\x1f\x7f]{0,198}[^/ \x00-\x1f\x7f])?)");
  properties["device"]["pattern"] = anchored_pattern("auto|cpu|cuda(:[0-9]{1,3})?");
  table["allOf"] = Json::array(
      {{{"if", chosen("cudnn_benchmark", true)},
        {"then", {{"properties", {{"deterministic", {{"const", false}}}}}, {"required", {"deterministic"}}}}}});
}

void train(Json& table) {
  table["oneOf"] = Json::array({{{"required", {"epochs"}}}, {{"required", {"updates"}}}});
  Json& metric = table["properties"]["early_stop"]["properties"]["metric"];
  metric["minLength"] = 1;
  metric["not"] = {{"const", "eval."}};
}

void optimizer(Json& table) {
  Json& betas = table["properties"]["betas"];
  betas["minItems"] = betas["maxItems"] = 2;
  Json nesterov = chosen("name", "sgd");
  nesterov["properties"]["nesterov"] = {{"const", true}};
  nesterov["required"].push_back("nesterov");
  table["allOf"] = Json::array(
      {{{"if", chosen("name", "sgd")}, {"then", forbidden({"betas", "eps"})}},
       {{"if", chosen_or_absent("name", "adamw")}, {"then", forbidden({"momentum", "nesterov"})}},
       {{"if", nesterov},
        {"then", {{"required", {"momentum"}}, {"properties", {{"momentum", {{"exclusiveMinimum", 0}}}}}}}}});
}

void schedule(Json& table) {
  table["allOf"] = Json::array({{{"if", chosen_or_absent("name", "constant")}, {"then", forbidden({"min_lr"})}}});
}

void memory(Json& properties) {
  properties["on_oom"]["items"]["enum"] = std::vector<std::string>(rungs().begin(), rungs().end());
  properties["on_oom"]["uniqueItems"] = true;
}

void checkpoint(Json& properties) {
  properties["best"]["pattern"] = anchored_pattern(R"(eval\..+:(min|max))");
  properties["keep_every"]["pattern"] = anchored_pattern(update_count_pattern());
}

void metrics(Json& table) {
  Json& properties = table["properties"];
  properties["textfile"]["allOf"] = Json::array({{{"pattern", anchored_pattern(R"(.*\.prom)")}}});
  properties["push"]["pattern"] = anchored_pattern(R"(https?://[^/?#@ ]+(/[^?# ]*)?)");
  table["dependencies"] = {{"password_file", {"push"}}};
}

}  // namespace

void add_table_rules(Json& tables) {
  run(tables["run"]);
  train(tables["train"]);
  optimizer(tables["optimizer"]);
  schedule(tables["schedule"]);
  memory(tables["memory"]["properties"]);
  checkpoint(tables["checkpoint"]["properties"]);
  metrics(tables["metrics"]);
}

Json recipe_rules() {
  const Json early_stop = {{"required", {"train"}}, {"properties", {{"train", {{"required", {"early_stop"}}}}}}};
  return Json::array({{{"if", early_stop}, {"then", {{"properties", {{"dataset", {{"required", {"eval"}}}}}}}}}});
}

}  // namespace holdfast::spec
