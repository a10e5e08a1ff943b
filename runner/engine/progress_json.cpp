// JSON with sorted keys, so that equal states give equal text. NaN, which JSON lacks, is null.
#include "engine/progress_json.hpp"

#include <algorithm>
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

constexpr const char *kScale = "loss_scale", *kScaleApplied = "loss_scale_applied",
                     *kScaleSkipped = "loss_scale_skipped", *kScaleAtFloor = "loss_scale_at_floor";

constexpr const char* kLeftOut = "left_out";

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Fields of a stranger's object, each of one kind.
class Fields {
 public:
  Fields(const json& object, const std::string& where) : object_(object), where_(where) {
    if (!object.is_object()) refuse("", object, "an object");
  }

  [[nodiscard]] std::int64_t integer(const char* name) const {
    const json& value = get(name);
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
      refuse(name, value, "a whole number of 64 bits");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::optional<double> optional(const char* name) const {
    const json& value = get(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number()) refuse(name, value, "a number or null");
    return value.get<double>();
  }
  [[nodiscard]] std::optional<LossScaleState> loss_scale_or_absent() const {
    if (!object_.contains(kScale)) return std::nullopt;
    const json& value = get(kScale);
    if (!value.is_number() || !(value.get<double>() > 0)) refuse(kScale, value, "a number above 0");
    return LossScaleState{value.get<double>(), integer(kScaleApplied), integer(kScaleSkipped), integer(kScaleAtFloor)};
  }
  [[nodiscard]] bool flag_or_absent(const char* name) const {
    if (!object_.contains(name)) return false;
    const json& value = get(name);
    if (!value.is_boolean()) refuse(name, value, "true or false");
    return value.get<bool>();
  }
  [[nodiscard]] std::string text(const char* name) const {
    const json& value = get(name);
    if (!value.is_string()) refuse(name, value, "a string");
    return value.get<std::string>();
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> scores(const char* name) const {
    const json& value = get(name);
    std::vector<std::pair<std::string, double>> list;
    if (!value.is_array()) refuse(name, value, "a list");
    for (const json& pair : value) {
      const bool sound =
          pair.is_array() && pair.size() == 2 && pair[0].is_string() && (pair[1].is_null() || pair[1].is_number());
      if (!sound) refuse(name, pair, "a list of pairs, each a name and a number or null");
      list.emplace_back(pair[0].get<std::string>(),
                        pair[1].is_null() ? std::numeric_limits<double>::quiet_NaN() : pair[1].get<double>());
    }
    return list;
  }
  [[nodiscard]] std::vector<LeftOut> left_out_or_absent() const {
    std::vector<LeftOut> list;
    if (!object_.contains(kLeftOut)) return list;
    const json& value = get(kLeftOut);
    if (!value.is_array()) refuse(kLeftOut, value, "a list");
    for (const json& pair : value) {
      const bool sound = pair.is_array() && pair.size() == 2 && is_count(pair[0]) && is_count(pair[1]);
      if (!sound) refuse(kLeftOut, pair, "a list of pairs, each a window and a number of windows");
      list.push_back({pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()});
    }
    return list;
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> states(const char* name) const {
    const json& value = get(name);
    std::vector<std::pair<std::string, std::string>> list;
    if (!value.is_object()) refuse(name, value, "an object");
    for (const auto& item : value.items()) {
      if (!item.value().is_object()) refuse(name, item.value(), "an object of objects");
      list.emplace_back(item.key(), item.value().dump());
    }
    return list;
  }

 private:
  [[nodiscard]] static bool is_count(const json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
  }
  [[nodiscard]] const json& get(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw Error(ExitCode::kMissingInput, "checkpoint.progress", where_,
                  "progress." + std::string(name) + " is not there", kDamagedHint);
    return *found;
  }
  [[noreturn]] void refuse(const std::string& name, const json& value, const char* wanted) const {
    constexpr std::size_t kShown = 60;
    std::string shown = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    throw Error(ExitCode::kMissingInput, "checkpoint.progress", where_,
                "progress" + (name.empty() ? "" : "." + name) + " is " + shown + "; it must be " + wanted,
                kDamagedHint);
  }

  const json& object_;
  const std::string& where_;
};

json states(const std::vector<std::pair<std::string, std::string>>& list) {
  json object = json::object();
  for (const auto& [table, text] : list) {
    object[table] = json::parse(text, nullptr, false);
    if (!object[table].is_object())
      throw Error(ExitCode::kBug, "component.state", table, "state() did not give a JSON object: " + text);
  }
  return object;
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
  for (const auto& left : saved.progress.left_out) object[kLeftOut].push_back(json::array({left.first, left.count}));
  object["eval_data"] = saved.eval_data;
  if (const auto& at = saved.loss_scale) {
    object[kScale] = at->scale;
    object[kScaleApplied] = at->applied_in_a_row;
    object[kScaleSkipped] = at->skipped;
    object[kScaleAtFloor] = at->skipped_at_floor;
  }
  object["hooks"] = states(saved.hooks);
  object["strategies"] = states(saved.strategies);
  return object.dump();
}

namespace {

json to_json(const LargestSegments& known) { return {{"entries", known.entries}, {"names", known.names}}; }

LargestSegments largest_from(const json& segments, const char* field) {
  const auto words = [](const json& list) {
    std::vector<std::string> found;
    if (list.is_array())
      for (const json& item : list)
        if (item.is_string()) found.push_back(item.get<std::string>());
    return found;
  };
  const json known = segments.is_object() ? segments.value(field, json()) : json();
  if (!known.is_object()) return {};
  return {words(known.value("entries", json())), words(known.value("names", json()))};
}

}  // namespace

std::string to_json(const SavedExtra& extra) {
  json choices = json::object();
  for (const auto& [key, value] : extra.choices) choices[key] = value;
  return json{
      {"oom_retries", extra.oom_retries},
      {"goals", {{"best", extra.goals.best}, {"early_stop", extra.goals.early_stop}}},
      {"choices", std::move(choices)},
      {"plan_edits", json::parse(extra.plan_edits)},
      {"segments", {{"recompute", to_json(extra.segments.recompute)}, {"offload", to_json(extra.segments.offload)}}},
      {"eval_batch", extra.eval_batch}}
      .dump();
}

SavedExtra extra_from_json(const std::string& text) {
  SavedExtra extra;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return extra;
  if (const auto found = object.find("oom_retries"); found != object.end() && found->is_number_integer())
    extra.oom_retries = std::max<std::int64_t>(0, found->get<std::int64_t>());
  if (const auto found = object.find("plan_edits"); found != object.end() && found->is_object())
    extra.plan_edits = found->dump(-1, ' ', false, json::error_handler_t::replace);
  if (const auto found = object.find("segments"); found != object.end())
    extra.segments = {largest_from(*found, "recompute"), largest_from(*found, "offload")};
  if (const auto found = object.find("eval_batch"); found != object.end() && found->is_number_integer())
    extra.eval_batch = std::max<std::int64_t>(0, found->get<std::int64_t>());
  if (const auto found = object.find("goals"); found != object.end() && found->is_object()) {
    const auto word = [&](const char* name) {
      const auto value = found->find(name);
      return value != found->end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    extra.goals = {word("best"), word("early_stop")};
  }
  if (const auto found = object.find("choices"); found != object.end() && found->is_object())
    for (const auto& item : found->items())
      if (item.value().is_string()) extra.choices.emplace_back(item.key(), item.value().get<std::string>());
  return extra;
}

SavedProgress progress_from_json(const std::string& text, const std::string& where) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Fields fields(object, where);
  SavedProgress saved;
  Progress& progress = saved.progress;
  for (const auto& [name, member] : kCounters) progress.*member = fields.integer(name);
  progress.best_metric = fields.optional("best_metric");
  progress.early_best = fields.optional("early_best");
  saved.last_eval_update = fields.integer("last_eval_update");
  saved.last_eval = fields.scores("last_eval");
  saved.evaluation_pending = fields.flag_or_absent("evaluation_pending");
  progress.left_out = fields.left_out_or_absent();
  saved.eval_data = fields.text("eval_data");
  saved.loss_scale = fields.loss_scale_or_absent();
  saved.hooks = fields.states("hooks");
  saved.strategies = fields.states("strategies");
  return saved;
}

namespace {

std::string goal(const std::string& metric, bool maximise) { return metric + (maximise ? ":max" : ":min"); }

}  // namespace

SavedGoals goals_of(const plan::TrainSettings& settings) {
  return {goal(settings.best.metric, settings.best.maximise),
          settings.early_stop ? goal(settings.early_stop->metric, settings.early_stop->maximise) : "none"};
}

}  // namespace holdfast::engine
