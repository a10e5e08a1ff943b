// JSON with sorted keys, so that equal states give equal text. NaN, which JSON lacks, is null.
#include "engine/progress_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace holdfast::engine {
namespace {

using nlohmann::json;

struct Counter {
  const char* name;
  std::int64_t Progress::*member;
};
constexpr Counter kCounters[] = {
    {"update", &Progress::update},
    {"window", &Progress::window},
    {"epoch", &Progress::epoch},
    {"samples_seen", &Progress::samples_seen},
    {"no_op_windows", &Progress::no_op_windows},
    {"skipped_windows", &Progress::skipped_windows},
    {"skipped_samples", &Progress::skipped_samples},
    {"best_update", &Progress::best_update},
    {"evals_without_improvement", &Progress::evals_without_improvement},
};

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}
std::optional<double> optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

json states(const std::vector<std::pair<std::string, std::string>>& list) {
  json object = json::object();
  for (const auto& [table, text] : list) {
    object[table] = json::parse(text, nullptr, false);
    if (!object[table].is_object())
      throw Error(ExitCode::kBug, "component.state", table, "state() did not give a JSON object: " + text);
  }
  return object;
}
std::vector<std::pair<std::string, std::string>> states(const json& object) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& item : object.items()) list.emplace_back(item.key(), item.value().dump());
  return list;
}

SavedProgress parse(const json& object) {
  SavedProgress saved;
  Progress& progress = saved.progress;
  for (const auto& [name, member] : kCounters) progress.*member = object.at(name).get<std::int64_t>();
  progress.best_metric = optional(object.at("best_metric"));
  progress.early_best = optional(object.at("early_best"));
  saved.last_eval_update = object.at("last_eval_update").get<std::int64_t>();
  for (const auto& pair : object.at("last_eval")) saved.last_eval.emplace_back(pair.at(0), number(pair.at(1)));
  saved.evaluation_pending = object.contains("evaluation_pending");
  saved.eval_data = object.at("eval_data").get<std::string>();
  saved.hooks = states(object.at("hooks"));
  saved.strategies = states(object.at("strategies"));
  return saved;
}

}  // namespace

std::string to_json(const SavedProgress& saved) {
  json object;
  for (const auto& [name, member] : kCounters) object[name] = saved.progress.*member;
  const auto put = [&](const char* name, const std::optional<double>& value) {
    object[name] = value ? json(*value) : json(nullptr);
  };
  put("best_metric", saved.progress.best_metric);
  put("early_best", saved.progress.early_best);
  object["last_eval_update"] = saved.last_eval_update;
  object["last_eval"] = json::array();
  for (const auto& [name, value] : saved.last_eval) object["last_eval"].push_back(json::array({name, number(value)}));
  if (saved.evaluation_pending) object["evaluation_pending"] = true;  // only then: other digests stay as they are
  object["eval_data"] = saved.eval_data;
  object["hooks"] = states(saved.hooks);
  object["strategies"] = states(saved.strategies);
  return object.dump();
}

std::string to_json(const SavedExtra& extra) {
  json choices = json::object();
  for (const auto& [key, value] : extra.choices) choices[key] = value;
  return json{{"oom_retries", extra.oom_retries}, {"choices", std::move(choices)}}.dump();
}

SavedExtra extra_from_json(const std::string& text) {
  SavedExtra extra;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return extra;
  if (const auto found = object.find("oom_retries"); found != object.end() && found->is_number_integer())
    extra.oom_retries = found->get<std::int64_t>();
  if (const auto found = object.find("choices"); found != object.end() && found->is_object())
    for (const auto& item : found->items())
      if (item.value().is_string()) extra.choices.emplace_back(item.key(), item.value().get<std::string>());
  return extra;
}

SavedProgress progress_from_json(const std::string& text) {
  try {
    return parse(json::parse(text));
  } catch (const json::exception& failure) {
    throw Error(ExitCode::kMissingInput, "checkpoint.progress", "checkpoint",
                std::string("the saved progress cannot be read: ") + failure.what());
  }
}

std::vector<std::pair<std::string, std::string>> choices_of(const TrainerParts& parts) {
  const auto& settings = parts.settings;
  const auto& optimizer = settings.optimizer;
  constexpr const char* kSchedules[] = {"constant", "linear", "cosine"};
  std::vector<std::pair<std::string, std::string>> choices = {
      {"train.epochs", settings.epochs ? std::to_string(*settings.epochs) : "none"},
      {"train.updates", settings.updates ? std::to_string(*settings.updates) : "none"},
      {"train.clip_grad_norm", settings.clip_grad_norm ? json(*settings.clip_grad_norm).dump() : "none"},
      {"optimizer.lr", json(optimizer.lr).dump()},
      {"optimizer.weight_decay", json(optimizer.weight_decay).dump()},
      {"optimizer.betas", json({optimizer.beta1, optimizer.beta2}).dump()},
      {"optimizer.momentum", json(optimizer.momentum).dump()},
      {"schedule.name", kSchedules[static_cast<std::size_t>(settings.schedule.name)]},
      {"schedule.warmup_updates", std::to_string(settings.schedule.warmup_updates)},
      {"schedule.min_lr", json(settings.schedule.min_lr).dump()},
  };
  const auto tables = [](const auto& list) {
    std::string text;
    for (const auto& named : list) text += (text.empty() ? "" : ", ") + named.table;
    return text.empty() ? std::string("none") : text;
  };
  choices.emplace_back("strategies", tables(parts.strategies));
  choices.emplace_back("hooks", tables(parts.hooks));
  return choices;
}

}  // namespace holdfast::engine
