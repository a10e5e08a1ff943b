// Free space is asked for when an exposition is made, on the thread that makes it.
#include "app/worker/metering.hpp"

#include <ATen/Parallel.h>
#include <sys/statvfs.h>

#include "app/front/aftermath.hpp"
#include "app/front/source.hpp"
#include "app/worker/saving_way.hpp"
#include "base/listen_address.hpp"
#include "device/device.hpp"
#include "device/domain_pool.hpp"
#include "device/memory.hpp"
#include "telemetry/machine.hpp"

namespace holdfast::app {
namespace {

/// None for a figure that the system did not give.
std::optional<std::int64_t> known(std::int64_t bytes) {
  return bytes > 0 ? std::optional<std::int64_t>(bytes) : std::nullopt;
}

telemetry::DomainReading domain_reading(device::Domain domain) {
  const device::MemoryReading figures = device::pool_of(domain).reading();
  return {figures.allocated, figures.reserved, figures.peak, figures.budget};
}

telemetry::MemoryReading read_memory(const std::string& home) {
  const device::MemoryFigures figures = device::ProcessMemory().read();
  telemetry::MemoryReading reading;
  reading.resident = known(figures.resident_bytes);
  reading.peak_resident = known(figures.peak_resident_bytes);
  reading.device = domain_reading(device::Domain::kDevice);
  reading.host = domain_reading(device::Domain::kHost);
  struct statvfs info {};
  if (statvfs(home.c_str(), &info) == 0)
    reading.filesystem_free = static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  return reading;
}

}  // namespace

std::unique_ptr<telemetry::RunMetrics> run_metrics(const spec::Recipe& recipe, const std::string& home,
                                                   base::RunLog& log) {
  telemetry::RunMetricsSettings settings;
  settings.run = recipe.run.string("name");
  settings.memory = [home] { return read_memory(home); };
  settings.warn = [&log](std::string_view sentence) { log.warn(sentence); };
  settings.log_messages = [&log] { return log.counts(); };
  if (recipe.run.has("expected_interval")) settings.expected_interval = recipe.run.duration("expected_interval");
  return std::make_unique<telemetry::RunMetrics>(std::move(settings));
}

telemetry::RunIdentity run_identity(const spec::Recipe& recipe, const checkpoint::Generation& generation, int attempt) {
  telemetry::RunIdentity identity;
  identity.run_id = generation.name;
  identity.device = device::select(recipe.run.string("device")).str();
  for (const auto& strategy : recipe.strategies)
    identity.strategies += (identity.strategies.empty() ? "" : ",") + strategy.plugin;
  identity.version = HOLDFAST_VERSION;
  identity.libtorch = HOLDFAST_TORCH_VERSION;
  identity.attempt = attempt;
  return identity;
}

telemetry::EventFields start_facts(const spec::Recipe& recipe) {
  std::string strategies;
  for (const auto& strategy : recipe.strategies) strategies += (strategies.empty() ? "" : ", ") + strategy.plugin;
  telemetry::EventFields facts = {{"version", std::string(HOLDFAST_VERSION)},
                                  {"libtorch", std::string(HOLDFAST_TORCH_VERSION)},
                                  {"device", device::select(recipe.run.string("device")).str()},
                                  {"threads", static_cast<std::int64_t>(at::get_num_threads())},
                                  {"strategies", strategies}};
  const std::int64_t budget = device::pool_of(device::Domain::kDevice).reading().budget;
  if (budget > 0) facts.emplace_back("memory_budget_bytes", budget);
  const telemetry::EventFields machine = telemetry::machine_facts();
  facts.insert(facts.end(), machine.begin(), machine.end());
  return facts;
}

telemetry::ExporterSettings exporter_settings(const spec::Recipe& recipe, const checkpoint::Generation& generation,
                                              base::RunLog& log) {
  telemetry::ExporterSettings settings;
  settings.folder = generation.path;
  if (recipe.metrics.has("listen"))
    settings.listen = base::parse_listen_address(recipe.metrics.string("listen")).address;
  if (recipe.metrics.has("textfile")) settings.textfile = recipe.metrics.path("textfile");
  settings.log = &log;
  return settings;
}

void remember_failures(const std::string& home, telemetry::RunMetrics& metrics) {
  Failures known = read_failures(home);
  for (const auto& row : supervise::causes()) {
    if (row.cause == supervise::Cause::kNone || row.cause == supervise::Cause::kUsage) continue;
    known.failures.try_emplace(std::string(row.name), 0);
    known.restarts.try_emplace(std::string(row.name), 0);
  }
  metrics.remember(known.failures, known.restarts);
}

FlightSettings flight_settings(const spec::Recipe& recipe, const checkpoint::Generation& generation, int attempt) {
  FlightSettings settings;
  settings.folder = generation.path;
  settings.attempt = attempt;
  settings.device = device::select(recipe.run.string("device")).str();
  settings.version = HOLDFAST_VERSION;
  settings.hang_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(recipe.supervise.duration("hang_timeout")).count();
  settings.supervisor = supervisor_of_this_process();
  settings.gpu = recipe.run.string("device") != "cpu";
  settings.memory = [](supervise::Sample& sample) {
    const device::MemoryReading at = device::pool_of(device::Domain::kDevice).reading();
    sample.device_allocated = at.allocated;
    sample.device_reserved = at.reserved;
    if (at.budget > 0) sample.device_budget = at.budget;
    sample.host_allocated = device::pool_of(device::Domain::kHost).reading().allocated;
  };
  return settings;
}

SaveReport MeteredSaver::save(const base::StateView& state, const Request& request) {
  metrics_->saving();
  if (auto* recorder = flight()) recorder->sign(supervise::Phase::kSaving, supervise::Sign::kSave);
  try {
    SaveReport report = saver_.save(state, request);
    metrics_->saved(bytes_of(state));
    return report;
  } catch (const Error& failure) {
    metrics_->save_failed(failure.code());
    throw;
  }
}

void MeteredSaver::begin(const std::function<base::StateView()>& snapshot, const Request& request) {
  metrics_->saving();
  const auto measured = [&] {
    base::StateView state = snapshot();
    bytes_begun_ = bytes_of(state);
    return state;
  };
  try {
    saver_.begin(measured, request);
  } catch (...) {
    metrics_->snapshot_taken();
    throw;
  }
  metrics_->snapshot_taken();
}

std::optional<engine::Saver::Settled> MeteredSaver::settle(bool wait) {
  if (wait) {
    metrics_->saving();
    if (auto* recorder = flight()) recorder->sign(supervise::Phase::kSaving, supervise::Sign::kSave);
  }
  auto settled = saver_.settle(wait);
  if (wait) metrics_->snapshot_taken();
  if (settled && settled->failure) metrics_->failed_behind(settled->failure->code());
  if (settled && !settled->failure) metrics_->saved_behind(bytes_begun_, settled->report.took);
  return settled;
}

}  // namespace holdfast::app
