// Order matters: plugin folders before the recipe's plugin tables, data before the model (it sees the data's facts).
#include "app/worker/assembly.hpp"

#include "app/worker/catalog.hpp"
#include "app/worker/settings.hpp"
#include "app/worker/weights.hpp"
#include "base/cgroup_memory.hpp"
#include "base/plugin_guard.hpp"
#include "base/text.hpp"
#include "device/allocator.hpp"
#include "device/anomaly.hpp"
#include "device/device.hpp"
#include "device/domain_pool.hpp"
#include "device/memory.hpp"
#include "device/out_of_memory.hpp"
#include "device/random.hpp"
#include "device/threads.hpp"

namespace holdfast::app {

/// What components may use of the runner.
class Assembly::Services : public Metrics, public Memory {
 public:
  explicit Services(base::RunLog& log) : log_(log) {}
  void gauge(std::string_view, double) override {}
  [[nodiscard]] MemoryUse device() const override { return use(device::Domain::kDevice, "memory.device_budget"); }
  [[nodiscard]] MemoryUse host() const override { return use(device::Domain::kHost, "memory.host_budget"); }
  [[nodiscard]] MemoryUse machine() const override {
    const auto found = groups_.fullest();
    return found ? MemoryUse{found->used, found->limit, 0, "the control group " + found->group} : MemoryUse{};
  }
  [[nodiscard]] Context context(const std::string& table, const DataFacts* facts) {
    return {log_, metrics ? metrics->component(table) : *this, table, facts};
  }
  [[nodiscard]] base::RunLog& log() { return log_; }
  telemetry::RunMetrics* metrics = nullptr;  ///< where gauges go; null: nowhere

 private:
  [[nodiscard]] static MemoryUse use(device::Domain domain, const char* budget) {
    const auto now = device::pool_of(domain).reading();
    return {now.allocated, now.budget, now.reserved, now.budget > 0 ? budget : ""};
  }
  base::RunLog& log_;
  base::CgroupMemory groups_;
};

Assembly::Assembly(const CommandLine& line, const Source& source, base::RunLog& log)
    : services_(std::make_unique<Services>(log)) {
  spec::ReadOptions reading = source.reading;
  if (!source.home.empty()) reading.overrides.push_back({"run.output", source.home});
  host_ = make_host(line, spec::plugin_search(source.recipe, reading), log);
  HostCatalog catalog(*host_);
  reading.catalog = &catalog;
  recipe_ = spec::read_recipe(source.recipe, reading);
  log.set_level(recipe_.log.string("level") == "debug"   ? base::LogLevel::kDebug
                : recipe_.log.string("level") == "warn"  ? base::LogLevel::kWarn
                : recipe_.log.string("level") == "error" ? base::LogLevel::kError
                                                         : base::LogLevel::kInfo);
}

Assembly::~Assembly() = default;

void Assembly::report_to(telemetry::RunMetrics& metrics) { services_->metrics = &metrics; }

std::unique_ptr<Component> Assembly::make(const spec::PluginTable& table, Kind kind, const DataFacts* facts) {
  const ComponentInfo& info = host_->find(kind, table.plugin);
  const Context context = services_->context(table.table, facts);
  const std::string place = "[" + table.table + "]";
  const char* hint = "make the model or the data set smaller, or use a machine with more memory";
  try {
    auto component =
        base::guard<c10::Error>(table.plugin, "construction", [&] { return info.make(table.options, context); });
    if (component) return component;
    throw Error(ExitCode::kBug, "plugin.threw", "", "plugin '" + table.plugin + "': construction returned nothing");
  } catch (const c10::Error& failure) {
    std::string text;
    if (device::is_over_budget(failure))
      throw Error(ExitCode::kBadRecipe, "memory.budget", place,
                  "plugin '" + table.plugin + "' does not fit: " + device::sentence_of(failure),
                  "raise memory.device_budget or make the model smaller");
    if (device::is_device_out_of_memory(failure, text))  // nothing is built on a GPU: it is the host's allocator
      throw Error(ExitCode::kHostOutOfMemory, "memory.host", place,
                  "plugin '" + table.plugin + "' needs more memory than there is: " + text, hint);
    throw base::plugin_failure(table.plugin, "construction", device::sentence_of(failure));
  } catch (const std::bad_alloc& failure) {
    if (device::is_over_budget(failure))
      throw Error(ExitCode::kHostOutOfMemory, "memory.host", place,
                  "plugin '" + table.plugin + "' does not fit: " + failure.what(),
                  "raise memory.host_budget or make the data set smaller");
    throw Error(ExitCode::kHostOutOfMemory, "memory.host", place,
                "plugin '" + table.plugin + "' needs more memory than there is", hint);
  }
}

template <class C>
std::unique_ptr<C> Assembly::create(const spec::PluginTable& table, const DataFacts* facts) {
  auto component = make(table, C::kKind, facts);
  auto* typed = dynamic_cast<C*>(component.get());
  if (!typed)
    throw Error(ExitCode::kPlugin, "plugin.wrong_kind", "plugin '" + table.plugin + "'",
                "registered a component whose type is not what its kind says",
                "it was built against other headers; rebuild it with this version's SDK");
  component.release();
  return std::unique_ptr<C>(typed);
}

void Assembly::apply_machine_settings() const {
  const at::Device device = device::select(recipe_.run.string("device"));
  apply_cuda_settings(device);
  if (!device.is_cpu())
    throw Error(ExitCode::kUnavailable, "device.not_built", recipe_.path,
                "training on '" + device.str() + "' is not yet built in this version", "write [run] device = \"cpu\"");
  device::install_allocator();
  const auto budget = [this](const char* key) { return recipe_.memory.has(key) ? recipe_.memory.size(key).count : 0; };
  device::pool_of(device::Domain::kDevice).set_budget(budget("device_budget"));
  device::pool_of(device::Domain::kHost).set_budget(budget("host_budget"));
  device::keep_freed_memory();  // kernels' own scratch does not come from the pools
  device::set_compute_threads(recipe_.run.has("threads") ? static_cast<int>(recipe_.run.integer("threads")) : 0);
  device::set_deterministic(recipe_.run.boolean("deterministic"));
  device::set_anomaly_mode(recipe_.run.boolean("anomaly_mode"));
}

void Assembly::apply_cuda_settings(at::Device device) const {
  const Options &run = recipe_.run, &memory = recipe_.memory;
  const std::int64_t split = memory.has("max_split_size") ? memory.size("max_split_size").count : 0;
  const device::CudaSettings settings{memory.boolean("expandable_segments"), split, run.boolean("cudnn_benchmark"),
                                      run.boolean("tf32")};
  if (device.is_cuda()) return device::set_cuda(settings);
  const std::pair<const char*, bool> given[] = {{"run.cudnn_benchmark", settings.cudnn_benchmark},
                                                {"run.tf32", settings.tf32},
                                                {"memory.expandable_segments", settings.expandable_segments},
                                                {"memory.max_split_size", split > 0}};
  for (const auto& [key, wanted] : given)
    if (wanted)
      services_->log().warn(std::string(key) + " is for CUDA: it has no effect on the device '" + device.str() + "'");
}

void Assembly::build_data() {
  const device::HostScope host;
  train_ = create<Dataset>(*recipe_.train_data, nullptr);
  facts_ = train_->facts();
  if (recipe_.eval_data) eval_ = create<Dataset>(*recipe_.eval_data, nullptr);
}

void Assembly::build() {
  apply_machine_settings();
  build_data();
  device::seed_generators(static_cast<std::uint64_t>(recipe_.run.integer("seed")), 0, 0);  // updates count from 1
  model_ = create<Model>(*recipe_.model, &facts_);
  if (!recipe_.model_init.empty()) load_weights(*model_, recipe_.model_init);
  for (const auto& table : recipe_.strategies) strategies_.emplace_back(table.table, create<Strategy>(table, &facts_));
  for (const auto& table : recipe_.hooks) hooks_.emplace_back(table.table, create<Hook>(table, &facts_));
}

void Assembly::require_room() const {
  if (!recipe_.memory.has("device_budget")) return;
  const std::int64_t budget = recipe_.memory.size("device_budget").count;
  std::int64_t weights = 0, gradients = 0;
  for (const auto& [name, tensor] : model_->parameters()) {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    weights += bytes;
    if (tensor.requires_grad()) gradients += bytes;
  }
  for (const auto& [name, tensor] : model_->buffers()) weights += static_cast<std::int64_t>(tensor.nbytes());
  if (weights + gradients <= budget) return;
  throw Error(ExitCode::kBadRecipe, "memory.budget", recipe_.path,
              "memory.device_budget is " + base::human_bytes(budget) + ", but the model's weights need " +
                  base::human_bytes(weights) + " and their gradients " + base::human_bytes(gradients),
              "raise memory.device_budget or make the model smaller");
}

base::StateView Assembly::first_state(engine::Trainer& trainer) const {
  try {
    return trainer.state();
  } catch (const std::exception& failure) {
    std::string text;
    if (!device::is_device_out_of_memory(failure, text)) throw;
    throw Error(ExitCode::kBadRecipe, "memory.budget", recipe_.path,
                "the optimizer's state does not fit beside the weights: " + text,
                "raise memory.device_budget, keep the moments on the host with [strategy.optimizer_offload], or make "
                "the model smaller");
  }
}

engine::TrainerParts Assembly::parts() const {
  engine::TrainerParts parts;
  parts.settings = train_settings(recipe_);
  parts.model = model_.get();
  parts.train = train_.get();
  parts.eval = eval_.get();
  for (const auto& [table, strategy] : strategies_) parts.strategies.push_back({table, strategy.get()});
  for (const auto& [table, hook] : hooks_) parts.hooks.push_back({table, hook.get()});
  parts.on_oom = recipe_.memory.strings("on_oom");
  parts.memory = services_.get();
  parts.meter = &device::pool_of(device::Domain::kDevice);
  parts.sample_every = recipe_.memory.integer("sample_every");
  for (const auto& choice : recipe_.choices)  // where the run lies is no choice of how it trains
    if (choice.first != "run.output") parts.choices.push_back(choice);
  parts.last_save_patience = recipe_.run.duration("grace") / 2;
  parts.stop_on_save_error = recipe_.checkpoint.string("on_error") == "stop";
  return parts;
}

}  // namespace holdfast::app
