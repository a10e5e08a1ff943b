#include "app/worker/weights.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "checkpoint/store.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using holdfast::test::error_text;
using holdfast::test::TempFolder;

namespace {

/// Two tensors and nothing else.
class Pair : public Model {
 public:
  at::Tensor weight_tensor = at::zeros({2, 3}).requires_grad_(true), count = at::zeros({1}, at::kLong);
  [[nodiscard]] double weight(const Batch&) const override { return 1; }
  Outputs forward(const Batch&, Segments&) override { return {}; }
  at::Tensor loss(const Outputs&, const Batch&) override { return {}; }
  NamedTensors parameters() override { return {{"layer.weight", weight_tensor}}; }
  NamedTensors buffers() override { return {{"layer.count", count}}; }
  void train(bool) override {}
  [[nodiscard]] Traits traits() const override { return {}; }
};

base::TensorView view(const std::string& name, const std::string& dtype, const at::Tensor& tensor) {
  return {name, dtype, tensor.sizes().vec(), {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}};
}

}  // namespace

TEST_CASE("weights of a file go into parameters and buffers of the same names") {
  const TempFolder folder;
  const std::string path = folder / "w.safetensors";
  const at::Tensor weight = at::arange(6, at::kFloat).reshape({2, 3}), count = at::full({1}, 7, at::kLong);
  checkpoint::write_safetensors(path, {view("layer.weight", "F32", weight), view("layer.count", "I64", count)});
  Pair model;
  app::load_weights(model, path);
  CHECK(at::equal(model.weight_tensor, weight));
  CHECK(model.count.item<std::int64_t>() == 7);
  CHECK(model.weight_tensor.requires_grad());
}

TEST_CASE("weights of another model are refused by name with both sides, and nothing is changed") {
  const TempFolder folder;
  const std::string path = folder / "w.safetensors";
  const at::Tensor wide = at::ones({2, 4}), weight = at::ones({2, 3}), count = at::ones({1}, at::kLong);
  Pair model;
  const auto fault = [&] { return error_text<Error>([&] { app::load_weights(model, path); }); };
  const std::string hint = "\n  hint: these weights belong to another model";
  checkpoint::write_safetensors(path, {view("layer.weight", "F32", wide), view("layer.count", "I64", count)});
  CHECK(fault() == path +
                       ": error[weights.mismatch]: tensor 'layer.weight' is F32 [2, 4] in the file and F32 [2, 3] in "
                       "the model" +
                       hint);
  checkpoint::write_safetensors(path, {view("layer.weight", "F32", weight)});
  CHECK(fault() == path + ": error[weights.mismatch]: the model's tensor 'layer.count' is not in the file" + hint);
  checkpoint::write_safetensors(
      path, {view("layer.weight", "F32", weight), view("layer.count", "I64", count), view("layer.more", "I64", count)});
  CHECK(fault() == path + ": error[weights.mismatch]: the file's tensor 'layer.more' is not in the model" + hint);
  CHECK(model.weight_tensor.sum().item<double>() == 0);
}
