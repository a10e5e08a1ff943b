// Checks all before it changes any: a model is never left half loaded.
#include "app/worker/weights.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <map>

#include "checkpoint/store.hpp"

namespace holdfast::app {
namespace {

/// Names of the safetensors format (https://github.com/huggingface/safetensors, README, "Format").
std::string dtype_name(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "F64";
    case at::kFloat:
      return "F32";
    case at::kHalf:
      return "F16";
    case at::kBFloat16:
      return "BF16";
    case at::kLong:
      return "I64";
    case at::kInt:
      return "I32";
    case at::kShort:
      return "I16";
    case at::kChar:
      return "I8";
    case at::kByte:
      return "U8";
    case at::kBool:
      return "BOOL";
    default:
      return c10::toString(type);
  }
}

std::string described(const std::string& dtype, at::IntArrayRef shape) {
  std::string text = dtype + " [";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

NamedTensors state_of(Model& model) {
  NamedTensors all = model.parameters();
  for (auto& buffer : model.buffers()) all.push_back(std::move(buffer));
  return all;
}

[[noreturn]] void mismatch(const std::string& path, const std::string& what) {
  throw Error(ExitCode::kBadRecipe, "weights.mismatch", path, what, "these weights belong to another model");
}

}  // namespace

void load_weights(Model& model, const std::string& path) {
  const checkpoint::Loaded file = checkpoint::read_safetensors(path);
  std::map<std::string, const base::TensorView*> found;
  for (const auto& view : file.state.model) found[view.name] = &view;
  const NamedTensors wanted = state_of(model);
  for (const auto& [name, tensor] : wanted) {
    const auto at = found.find(name);
    if (at == found.end()) mismatch(path, "the model's tensor '" + name + "' is not in the file");
    const std::string have = described(at->second->dtype, at->second->shape);
    const std::string want = described(dtype_name(tensor.scalar_type()), tensor.sizes());
    if (have != want) mismatch(path, "tensor '" + name + "' is " + have + " in the file and " + want + " in the model");
    found.erase(at->first);
  }
  if (wanted.size() != file.state.model.size())
    mismatch(path, "the file's tensor '" + found.begin()->first + "' is not in the model");
  const at::NoGradGuard no_grad;
  for (const auto& view : file.state.model) {
    const at::Tensor& tensor = wanted.get(view.name);
    const auto bytes = const_cast<std::byte*>(view.bytes.data());
    tensor.copy_(at::from_blob(bytes, tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false)));
  }
}

}  // namespace holdfast::app
