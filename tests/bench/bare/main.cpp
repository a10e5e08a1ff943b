// What the training loop is measured against: the same networks, data and updates, written by hand in plain LibTorch.
// Uses nothing of holdfast. Prints one JSON object.
#include <sys/resource.h>
#include <torch/torch.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "convnet.hpp"
#include "data.hpp"
#include "gpt.hpp"
#include "loop.hpp"
#include "mlp.hpp"
#include "optimizer.hpp"
#include "settings.hpp"

namespace bare {
namespace {

/// Values of a safetensors file that begins with the tensors of `parameters`, in their order.
void read_weights(const std::string& path, const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard guard;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  std::uint64_t header = 0;
  if (!file || std::fread(&header, sizeof header, 1, file) != 1) throw std::runtime_error("cannot read " + path);
  std::fseek(file, static_cast<long>(header), SEEK_CUR);
  for (const auto& p : parameters)
    if (std::fread(p.data_ptr(), sizeof(float), static_cast<std::size_t>(p.numel()), file) !=
        static_cast<std::size_t>(p.numel()))
      throw std::runtime_error("short " + path);
  std::fclose(file);
}

void print(const Result& result, const Settings& settings, std::int64_t parameters) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"first_update_at\": %.6f, \"seconds\": %.9f, \"loop_cpu_seconds\": %.9f, \"updates\": %s, \"parameters\": "
      "%lld, \"last_loss\": %.9g, \"peak_rss_kib\": %ld}\n",
      result.first_update_at, result.window_ended_at - result.window_began_at, result.cpu_ended - result.cpu_began,
      settings.text("updates").c_str(), static_cast<long long>(parameters), result.last_loss, usage.ru_maxrss);
}

template <class Net>
void run(Net net, const Samples& samples, const Settings& settings) {
  if (settings.has("init")) read_weights(settings.text("init"), net.parameters());
  std::int64_t parameters = 0;
  for (const auto& p : net.parameters()) parameters += p.numel();
  const std::string& optimizer = settings.text("optimizer");
  if (optimizer == "fused")
    print(train<FusedAdamw>(net, samples, settings), settings, parameters);
  else if (optimizer == "sgd")
    print(train<Module<torch::optim::SGD>>(net, samples, settings), settings, parameters);
  else
    print(train<Module<torch::optim::AdamW>>(net, samples, settings), settings, parameters);
}

void run(const Settings& settings) {
  at::set_num_threads(static_cast<int>(settings.number("threads")));
  torch::manual_seed(static_cast<std::uint64_t>(settings.number("seed")));
  const std::string& net = settings.text("net");
  if (net == "gpt") {
    const std::int64_t context = settings.number("context");
    return run(Gpt(settings.number("depth"), settings.number("width"), settings.number("heads"), context),
               read_tokens(settings.text("files"), context), settings);
  }
  Samples samples = read_images(settings.text("images"), settings.text("labels"), settings.real("scale"));
  if (net == "convnet")
    return run(Convnet(samples.images.size(1), settings.list("channels"), settings.list("hidden")), samples, settings);
  samples.images = samples.images.flatten(1);
  run(Mlp(samples.images.size(1), settings.list("hidden")), samples, settings);
}

}  // namespace
}  // namespace bare

int main(int argc, char** argv) {
  try {
    bare::run(bare::Settings(argc, argv));
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bare: %s\n", failure.what());
    return 1;
  }
}
