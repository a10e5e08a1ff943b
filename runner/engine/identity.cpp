// Identity as flat JSON, compared key by key.
#include "engine/identity.hpp"

#include <nlohmann/json.hpp>

#include "engine/tensor_bytes.hpp"

namespace holdfast::engine {
namespace {

using nlohmann::json;

std::string describe(const at::Tensor& tensor) {
  std::string text = dtype_name(tensor.scalar_type()) + " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i) text += (i ? ", " : "") + std::to_string(tensor.size(i));
  return text + "]";
}

std::string show(const json& object, const std::string& key) {
  if (!object.contains(key)) return "nothing";
  const json& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string identity_json(const TrainerParts& parts, const NamedTensors& model_tensors) {
  const auto& settings = parts.settings;
  json identity;
  for (const auto& [name, tensor] : model_tensors) identity["model " + name] = describe(tensor);
  for (const auto& [name, tensor] : parts.model->parameters())  // what trains has moments in the optimizer's state
    if (!tensor.requires_grad()) identity["model " + name] = describe(tensor) + ", not trained";
  identity["dataset.train.fingerprint"] = parts.train->fingerprint();
  identity["dataset.train.size"] = parts.train->size();
  identity["dataset.train.shuffle"] = settings.shuffle_train;
  identity["dataset.train.drop_last"] = settings.drop_last_train;
  identity["run.seed"] = settings.seed;
  identity["train.batch_size"] = settings.batch_size;
  identity["optimizer.name"] = settings.optimizer.name == plan::OptimizerSettings::Name::kAdamw ? "adamw" : "sgd";
  if (settings.optimizer.name == plan::OptimizerSettings::Name::kSgd)
    identity["optimizer.momentum"] = settings.optimizer.momentum == 0 ? "none" : "kept";
  return identity.dump();
}

std::vector<std::string> identity_differences(const std::string& saved, const std::string& now,
                                              const std::string& where) {
  const json before = json::parse(saved, nullptr, false), after = json::parse(now);
  if (!before.is_object())
    throw Error(ExitCode::kMissingInput, "checkpoint.identity", where, "the saved identity is not a JSON object");
  json keys = before;
  keys.update(after);
  std::vector<std::string> differences;
  for (const auto& item : keys.items()) {
    const std::string& key = item.key();
    if (before.contains(key) && after.contains(key) && before.at(key) == after.at(key)) continue;
    differences.push_back(key + ": saved " + show(before, key) + ", now " + show(after, key));
  }
  return differences;
}

}  // namespace holdfast::engine
