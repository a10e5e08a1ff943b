// What the training loop is measured against: the same network, data and updates, written by hand in plain LibTorch.
// Uses nothing of holdfast. Prints one JSON object.
#include <sys/resource.h>
#include <time.h>
#include <torch/torch.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

double clock_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double monotonic() { return clock_of(CLOCK_MONOTONIC); }

/// An IDX file of bytes, plain or gzip, whole.
torch::Tensor read_idx(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  unsigned char head[4];
  if (!file || gzread(file, head, 4) != 4) throw std::runtime_error("cannot read " + path);
  std::vector<std::int64_t> shape;
  for (int i = 0; i < head[3]; ++i) {
    unsigned char word[4];
    if (gzread(file, word, 4) != 4) throw std::runtime_error("cannot read " + path);
    shape.push_back(std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3]);
  }
  torch::Tensor bytes = torch::empty(shape, torch::kUInt8);
  const auto count = static_cast<unsigned>(bytes.numel());
  if (gzread(file, bytes.data_ptr(), count) != static_cast<int>(count)) throw std::runtime_error("short " + path);
  gzclose(file);
  return bytes;
}

struct Net : torch::nn::Module {
  Net(std::int64_t features, const std::vector<std::int64_t>& hidden) {
    for (const auto width : hidden) add(features, width), features = width;
    add(features, 10);
  }
  void add(std::int64_t in, std::int64_t out) {
    layers.push_back(register_module(std::to_string(2 * layers.size()), torch::nn::Linear(in, out)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) x = torch::relu(layers[i]->forward(x));
    return layers.back()->forward(x);
  }
  std::vector<torch::nn::Linear> layers;
};

/// at::_fused_adamw_, decaying matrices only; the quickest loop that can be written on this LibTorch.
struct FusedAdamw {
  struct Group {
    double decay;
    std::vector<torch::Tensor> weights, averages, squares, steps;
  };
  FusedAdamw(const std::vector<torch::Tensor>& parameters, double rate, double decay)
      : lr(rate), groups{{decay, {}, {}, {}, {}}, {0, {}, {}, {}, {}}} {
    for (const auto& p : parameters) {
      Group& group = groups[p.dim() < 2 ? 1 : 0];
      group.weights.push_back(p);
      group.averages.push_back(torch::zeros_like(p));
      group.squares.push_back(torch::zeros_like(p));
      group.steps.push_back(torch::zeros({}));
    }
  }
  void step() {
    const torch::NoGradGuard guard;
    for (auto& group : groups) {
      std::vector<torch::Tensor> gradients;
      for (auto& weight : group.weights) gradients.push_back(weight.grad());
      for (auto& count : group.steps) count.add_(1);
      at::_fused_adamw_(group.weights, gradients, group.averages, group.squares, {}, group.steps, lr, 0.9, 0.999,
                        group.decay, 1e-8, false, false);
      for (auto& weight : group.weights) weight.mutable_grad().reset();
    }
  }
  double lr;
  std::vector<Group> groups;
};

struct ModuleAdamw {
  ModuleAdamw(const std::vector<torch::Tensor>& parameters, double rate, double decay)
      : optimizer(parameters, torch::optim::AdamWOptions(rate).weight_decay(decay)) {}
  void step() {
    optimizer.step();
    optimizer.zero_grad();
  }
  torch::optim::AdamW optimizer;
};

struct Settings {
  std::map<std::string, std::string> given;
  const std::string& text(const std::string& key) const { return given.at(key); }
  std::int64_t number(const std::string& key) const { return std::stoll(given.at(key)); }
  double real(const std::string& key) const { return std::stod(given.at(key)); }
  std::vector<std::int64_t> list(const std::string& key) const {
    std::vector<std::int64_t> numbers;
    const std::string& all = given.at(key);
    for (std::size_t at = 0; at < all.size();
         at = all.find(',', at) == std::string::npos ? all.size() : all.find(',', at) + 1)
      numbers.push_back(std::stoll(all.substr(at)));
    return numbers;
  }
};

struct Result {
  double first_update_at = 0, window_began_at = 0, window_ended_at = 0, cpu_began = 0, cpu_ended = 0, last_loss = 0;
};

/// `updates` updates; the clock runs from the end of update `from` to the end of update `to`.
template <class Optimizer>
Result train(Net& net, const torch::Tensor& images, const torch::Tensor& labels, const Settings& settings) {
  Optimizer optimizer(net.parameters(), settings.real("lr"), settings.real("weight_decay"));
  const std::int64_t batch = settings.number("batch"), samples = images.size(0);
  const std::int64_t per_epoch = samples / batch;  // the ragged rest is dropped, as the recipe says too
  const bool shuffle = settings.text("order") == "shuffled";
  Result result;
  torch::Tensor order;
  for (std::int64_t update = 1; update <= settings.number("updates"); ++update) {
    const std::int64_t at = (update - 1) % per_epoch;
    if (shuffle && at == 0) order = torch::randperm(samples);
    torch::Tensor x, y;
    if (shuffle) {
      const torch::Tensor rows = order.narrow(0, at * batch, batch);
      x = images.index_select(0, rows), y = labels.index_select(0, rows);
    } else {
      x = images.narrow(0, at * batch, batch), y = labels.narrow(0, at * batch, batch);
    }
    torch::Tensor loss = torch::nn::functional::cross_entropy(net.forward(x), y);
    loss.backward();
    optimizer.step();
    result.last_loss = loss.item<double>();
    if (update == 1) result.first_update_at = monotonic();
    if (update == settings.number("from")) {
      result.window_began_at = monotonic(), result.cpu_began = clock_of(CLOCK_THREAD_CPUTIME_ID);
    }
    if (update == settings.number("to")) {
      result.window_ended_at = monotonic(), result.cpu_ended = clock_of(CLOCK_THREAD_CPUTIME_ID);
    }
  }
  return result;
}

/// Values of a safetensors file whose tensors stand in the order of `parameters`.
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

void run(const Settings& settings) {
  at::set_num_threads(static_cast<int>(settings.number("threads")));
  torch::manual_seed(static_cast<std::uint64_t>(settings.number("seed")));
  const torch::Tensor images =
      read_idx(settings.text("images")).flatten(1).to(torch::kFloat).div_(settings.real("scale"));
  const torch::Tensor labels = read_idx(settings.text("labels")).to(torch::kLong);
  Net net(images.size(1), settings.list("hidden"));
  if (settings.given.contains("init")) read_weights(settings.text("init"), net.parameters());
  std::int64_t parameters = 0;
  for (const auto& p : net.parameters()) parameters += p.numel();
  const Result result = settings.text("optimizer") == "fused" ? train<FusedAdamw>(net, images, labels, settings)
                                                              : train<ModuleAdamw>(net, images, labels, settings);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"first_update_at\": %.6f, \"seconds\": %.9f, \"loop_cpu_seconds\": %.9f, \"updates\": %s, \"parameters\": "
      "%lld, "
      "\"last_loss\": %.9g, \"peak_rss_kib\": %ld}\n",
      result.first_update_at, result.window_ended_at - result.window_began_at, result.cpu_ended - result.cpu_began,
      settings.text("updates").c_str(), static_cast<long long>(parameters), result.last_loss, usage.ru_maxrss);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) settings.given[std::string(argv[i]).substr(2)] = argv[i + 1];
  try {
    run(settings);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bare: %s\n", failure.what());
    return 1;
  }
}
