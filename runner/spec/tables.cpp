// The declarations: every key of the runner's own tables.
#include "spec/tables.hpp"

#include <array>
#include <stdexcept>

namespace holdfast::spec {
namespace {

using namespace std::chrono_literals;

constexpr double kManySamples = 1e9;   // a batch, an epoch count
constexpr double kManyUpdates = 1e12;  // decades of training

OptionTable run_keys() {
  OptionTable t;
  t.string("name").doc("Names the run; its folder is output. Default: the recipe's file name without extension.");
  t.integer("seed", 0).min(0).doc("Decides initial weights, order of samples, dropout and augmentation.");
  t.string("device", "auto").doc("\"auto\", \"cpu\", \"cuda\" or \"cuda:N\". auto takes a GPU where there is one.");
  t.integer("threads").min(1).max(4096).doc("Threads of one operation. Default: the number of physical cores.");
  t.boolean("deterministic", true).doc("Same recipe, device and threads give the same bits.");
  t.boolean("anomaly_mode", false).doc("Finds the operation that makes a NaN in the backward pass; slow.");
  t.boolean("cudnn_benchmark", false)
      .doc("CUDA: tries convolutions and takes the fastest; needs deterministic = false.");
  t.boolean("tf32", false).doc("CUDA: float32 products in TF32, faster and less exact.");
  t.path("output").doc("The run's home. Default: runs/<name> beside the recipe.");
  t.string("when_done", "exit").one_of({"exit", "new"}).doc("After a finished generation: say so, or start the next.");
  t.integer("keep_runs").min(1).max(1e6).doc("Finished generations kept in the home. Default: all.");
  t.duration("max_wall_time")
      .above(0)
      .doc("Longest time of one process, from its start: saves and ends with exit 75 before it is over.");
  t.duration("grace", 25s)
      .min(1)
      .max(86400)
      .doc(
          "Time from a stop signal to being killed: holdfast ends before. A last save that fails is tried again for "
          "half of it.");
  t.duration("expected_interval").above(0).doc("How often this run is started; alerts on late runs read it.");
  return t;
}

OptionTable loader_keys() {
  OptionTable t;
  t.integer("threads", 1).min(1).max(256).doc("Threads that read samples; never changes content or order.");
  t.integer("prefetch", 4)
      .min(1)
      .max(4096)
      .doc("Batches read ahead; of small batches as many more as fit into 8 MiB, up to 64.");
  return t;
}

OptionTable train_keys() {
  OptionTable stop;
  stop.string("metric").required().doc("A score of the evaluation: \"loss\", \"accuracy\", ...");
  stop.string("mode").one_of({"min", "max"}).required().doc("Which way is better.");
  stop.integer("patience").min(1).max(1e6).required().doc("Evaluations without improvement before stopping.");
  OptionTable t;
  t.integer("epochs").min(1).max(kManySamples).doc("Passes over the training set. Give epochs or updates.");
  t.integer("updates").min(1).max(kManyUpdates).doc("Optimizer updates. Give epochs or updates.");
  t.integer("batch_size").min(1).max(kManySamples).required().doc("Samples per optimizer update.");
  t.interval("eval_every", Interval{Interval::Unit::kEpochs, 1, {}}).doc("How often the eval set is evaluated.");
  t.integer("eval_batch_size").min(1).max(kManySamples).doc("Samples per evaluation batch. Default: batch_size.");
  t.number("clip_grad_norm").above(0).doc("Largest global norm of the gradient. Default: no limit.");
  t.table("early_stop", std::move(stop)).doc("Stops when a metric no longer improves. Default: never.");
  return t;
}

OptionTable optimizer_keys() {
  OptionTable t;
  t.string("name", "adamw").one_of({"adamw", "sgd"}).doc("The update rule.");
  t.number("lr", 1e-3).above(0).max(1e6).doc("Learning rate.");
  t.number("weight_decay").min(0).max(1e6).doc("Decoupled for adamw, L2 for sgd. Default: 0.01 for adamw, 0 for sgd.");
  t.numbers("betas", std::vector<double>{0.9, 0.999}).min(0).below(1).doc("Decay of the two moments; adamw only.");
  t.number("eps", 1e-8).above(0).max(1).doc("Added to the denominator; adamw only.");
  t.number("momentum", 0.0).min(0).below(1).doc("sgd only.");
  t.boolean("nesterov", false).doc("Nesterov's form of the momentum; sgd only.");
  t.string("no_decay", "1d")
      .one_of({"1d", "none"})
      .doc(
          "Tensors without weight decay: those with fewer than two "
          "dimensions, or none.");
  return t;
}

OptionTable schedule_keys() {
  OptionTable t;
  t.string("name", "constant").one_of({"constant", "linear", "cosine"}).doc("Course of the learning rate.");
  t.integer("warmup_updates", 0).min(0).max(kManyUpdates).doc("Updates over which the rate rises from 0 to lr.");
  t.number("min_lr", 0.0).min(0).max(1e6).doc("Rate at the end of linear and cosine.");
  return t;
}

OptionTable memory_keys() {
  OptionTable t;
  t.size("device_budget").above(0).doc("Bytes that weights, gradients, activations and moments may hold together.");
  t.size("host_budget").above(0).doc("Bytes that batches, data sets in memory and copies for checkpoints may hold.");
  t.strings("on_oom", std::vector<std::string>(rungs().begin(), rungs().end()))
      .min_items(1)
      .doc("What is tried when memory runs out, in order. What it changed stays for the rest of the run.");
  t.boolean("expandable_segments", false).doc("CUDA: the allocator grows its segments, against fragmentation.");
  t.size("max_split_size").min(20 << 20).doc("CUDA: larger free blocks are not split, against fragmentation.");
  t.integer("sample_every", 8)
      .min(1)
      .max(1e6)
      .doc("Micro-batches from one look at the memory that they need to the next.");
  return t;
}

OptionTable checkpoint_keys() {
  OptionTable t;
  t.integer("keep", 3).min(1).max(1e6).doc("Newest checkpoints kept.");
  t.interval("keep_every").doc("Checkpoints at multiples of this many updates are kept for good. Default: none.");
  t.string("best", "eval.loss:min").doc("Whose checkpoint is always kept: eval.METRIC:min or eval.METRIC:max.");
  t.boolean("async", true).doc("Training pauses only for a copy of the state, and another thread writes it.");
  t.string("on_error", "continue")
      .one_of({"continue", "stop"})
      .doc("When a checkpoint cannot be written: try again while training goes on, or end with exit 74.");
  return t;
}

OptionTable supervise_keys() {
  OptionTable t;
  t.integer("max_restarts", 5).min(0).max(1e6).doc("Restarts in a row without a newer checkpoint before giving up.");
  t.duration("backoff", 10s).min(0.01).max(86400).doc("Wait before the first restart; doubles, up to 5 minutes.");
  t.duration("hang_timeout", 10min)
      .min(0.1)
      .max(604800)
      .doc("Time without a sign of progress that counts as a hang; three times it while starting or saving.");
  return t;
}

OptionTable metrics_keys() {
  OptionTable t;
  t.string("listen").doc(
      "Address and port of the HTTP endpoint, for example \"127.0.0.1:9464\"; port 0: any. Default: none. A port that "
      "cannot be had is a warning, and training goes on.");
  t.path("textfile")
      .doc("File for node_exporter's textfile collector, whose name ends in .prom; one for each run. Default: none.");
  t.string("push").doc(
      "URL of a Pushgateway, told how the run stands at its start and end. Default: none. One that does not answer is "
      "a "
      "warning, and training goes on.");
  t.path("password_file").doc("File with USER:PASSWORD for push, on its first line.");
  return t;
}

OptionTable log_keys() {
  OptionTable t;
  t.string("level", "info").one_of({"debug", "info", "warn", "error"}).doc("Least important lines shown.");
  t.boolean("file", true).doc("Write run.log.");
  t.duration("every", 1s).min(0.1).max(86400).doc("Shortest time between two update events.");
  return t;
}

OptionTable plugins_keys() {
  OptionTable t;
  auto& search = t.paths("search");
  search.fallback = OptionValue(std::vector<std::string>{});
  search.doc("Folders with plugin libraries, searched after the built-in ones. Names code that will run.");
  return t;
}

OptionTable model_keys() {
  OptionTable t;
  t.string("plugin").required().doc("The model plugin; its options stand beside this key.");
  t.path("init").doc("A safetensors file with initial weights.");
  return t;
}

OptionTable dataset_keys(bool training) {
  OptionTable t;
  t.string("plugin").required().doc("The data set plugin; its options stand beside this key.");
  t.boolean("shuffle", training).doc("A new order of samples each epoch.");
  t.boolean("drop_last", false).doc("Leave out the last, smaller batch of an epoch.");
  return t;
}

OptionTable named_keys(std::string_view kind) {
  OptionTable t;
  t.string("plugin").doc("The " + std::string(kind) + " plugin. Default: the table's own name.");
  t.boolean("enabled", true).doc("false: as if the table were not there.");
  return t;
}

}  // namespace

std::span<const RunnerTable> runner_tables() {
  static const std::array<OptionTable, 11> keys = {run_keys(),      loader_keys(), train_keys(),      optimizer_keys(),
                                                   schedule_keys(), memory_keys(), checkpoint_keys(), supervise_keys(),
                                                   metrics_keys(),  log_keys(),    plugins_keys()};
  static const std::array<RunnerTable, 11> tables = {{{"run", "The run as a whole.", &keys[0]},
                                                      {"loader", "Reading samples.", &keys[1]},
                                                      {"train", "Length and shape of the training.", &keys[2]},
                                                      {"optimizer", "The update rule.", &keys[3]},
                                                      {"schedule", "Course of the learning rate.", &keys[4]},
                                                      {"memory", "Budgets, and what to do without memory.", &keys[5]},
                                                      {"checkpoint", "What is saved and kept.", &keys[6]},
                                                      {"supervise", "Restarts after failures.", &keys[7]},
                                                      {"metrics", "Export of metrics; off unless given.", &keys[8]},
                                                      {"log", "The run's log.", &keys[9]},
                                                      {"plugins", "Where plugins are found.", &keys[10]}}};
  return tables;
}

std::string_view table_with_key(std::string_view key) {
  for (const RunnerTable& table : runner_tables())
    if (table.keys->find(key)) return table.name;
  return {};
}

std::span<const PluginPlace> plugin_places() {
  static const std::array<OptionTable, 5> keys = {model_keys(), dataset_keys(true), dataset_keys(false),
                                                  named_keys("strategy"), named_keys("hook")};
  static const std::array<PluginPlace, 5> places = {
      {{"model", "The model.", Kind::kModel, false, true, &keys[0]},
       {"dataset.train", "The training set.", Kind::kDataset, false, true, &keys[1]},
       {"dataset.eval", "The evaluation set. Without it nothing is evaluated.", Kind::kDataset, false, false, &keys[2]},
       {"strategy", "How a step is carried out.", Kind::kStrategy, true, false, &keys[3]},
       {"hook", "What watches the run.", Kind::kHook, true, false, &keys[4]}}};
  return places;
}

const PluginPlace& plugin_place(std::string_view name) {
  for (const PluginPlace& place : plugin_places())
    if (place.name == name) return place;
  throw std::logic_error("no plugin place '" + std::string(name) + "'");
}

std::span<const SafeMember> safe_set() {
  static constexpr std::array<SafeMember, 3> members = {
      {{"hook", "memory_guard"}, {"hook", "oom_checkpoint"}, {"hook", "periodic_checkpoint"}}};
  return members;
}

std::span<const std::string_view> rungs() {
  static constexpr std::array<std::string_view, 6> all = {
      "retry", "halve_micro_batch", "recompute", "offload_activations", "offload_optimizer", "save"};
  return all;
}

}  // namespace holdfast::spec
