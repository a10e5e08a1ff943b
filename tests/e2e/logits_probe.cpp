// logits_probe RECIPE WEIGHTS OUT: the model's outputs on the eval set, in evaluation mode, as a safetensors file. Lets
// the Python test compare numbers that the command itself does not print.
#include <torch/torch.h>

#include <cstdio>

#include "app/worker/assembly.hpp"
#include "app/worker/weights.hpp"
#include "checkpoint/store.hpp"
#include "engine/loader.hpp"

namespace {

class PlainSegments : public holdfast::Segments {
 public:
  std::vector<at::Tensor> run_list(std::string_view, const Function& fn, std::vector<at::Tensor> inputs) override {
    return fn(inputs);
  }
  [[nodiscard]] bool active() const override { return false; }
};

void write_logits(const std::string& recipe, const std::string& weights, const std::string& out) {
  holdfast::app::CommandLine line;
  holdfast::base::RunLog log;
  holdfast::app::Assembly assembly(line, holdfast::app::source_of(line, recipe), log);
  assembly.build();
  holdfast::app::load_weights(assembly.model(), weights);
  assembly.model().train(false);
  const torch::NoGradGuard no_grad;
  holdfast::engine::LoaderSettings settings;
  settings.batch_size = assembly.eval_data()->size();
  holdfast::engine::Loader loader(*assembly.eval_data(), settings);
  loader.start(0, 1);
  PlainSegments segments;
  const auto outputs = assembly.model().forward(loader.next().batch, segments);
  const at::Tensor logits = outputs.front().tensor.to(torch::kFloat).contiguous();
  const holdfast::base::TensorView view{
      outputs.front().name,
      "F32",
      logits.sizes().vec(),
      {static_cast<const std::byte*>(logits.data_ptr()), static_cast<std::size_t>(logits.nbytes())}};
  holdfast::checkpoint::write_safetensors(out, {view});
}

}  // namespace

int main(int count, char** values) {
  if (count != 4) return 64;
  try {
    write_logits(values[1], values[2], values[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
