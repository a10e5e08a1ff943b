// Reads windows on loader threads.
#include "engine/loader.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/plugin_guard.hpp"
#include "device/domain.hpp"
#include "device/out_of_memory.hpp"
#include "device/threads.hpp"

namespace holdfast::engine {
namespace {

class Builder : public BatchBuilder {
 public:
  explicit Builder(std::int64_t rows) : rows_(rows) {}

  at::Tensor field(std::string_view name, at::ScalarType dtype, at::IntArrayRef shape) override {
    if (const at::Tensor* known = fields.find(name)) {
      if (known->scalar_type() == dtype && known->sizes().slice(1) == shape) return *known;
      throw Error(ExitCode::kBug, "dataset.field_changed", "",
                  "field '" + std::string(name) + "' changes its dtype or shape within a batch");
    }
    std::vector<std::int64_t> sizes{rows_};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    fields.push_back({std::string(name), at::empty(sizes, dtype)});
    return fields.back().tensor;
  }
  void fail(std::size_t position, std::string source, std::string reason) override {
    corrupt.push_back({static_cast<std::int64_t>(position), std::move(source), std::move(reason)});
  }

  NamedTensors fields;
  std::vector<CorruptRow> corrupt;

 private:
  std::int64_t rows_;
};

data::WindowPlan checked_plan(const Dataset& dataset, const LoaderSettings& settings) {
  const std::int64_t size = dataset.size();
  if (size <= 0)
    throw Error(ExitCode::kBadData, "dataset.empty", settings.table, "the data set has no samples",
                "check that its paths name the files that were meant");
  data::WindowPlan plan(size, settings.batch_size, settings.drop_last);
  if (plan.windows_per_epoch() == 0)
    throw Error(ExitCode::kBadRecipe, "dataset.no_window", settings.table,
                "drop_last leaves nothing of " + std::to_string(size) + " samples in batches of " +
                    std::to_string(settings.batch_size),
                "set drop_last = false or a smaller batch size");
  return plan;
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderSettings& settings)
    : reader_(new Reader{dataset, settings, checked_plan(dataset, settings)}) {}

void Loader::start(std::int64_t first, std::int64_t last) {
  if (first < 0 || first >= last)
    throw Error(ExitCode::kBug, "loader.range", reader_->settings.table,
                "no window lies from " + std::to_string(first) + " to before " + std::to_string(last));
  prefetch_.reset();
  prefetch_ = std::make_unique<data::Prefetch<LoadedWindow>>(
      data::Prefetch<LoadedWindow>::Range{first, last}, reader_->settings.threads, depth(),
      [reader = reader_](std::int64_t number) { return reader->read(number); }, &device::compute_alone_here);
}

void Loader::leave() {
  constexpr std::chrono::seconds kPatience{1};
  if (prefetch_ && !prefetch_->stop_within(kPatience)) (void)prefetch_.release();
  prefetch_.reset();
}

// Small batches are made many at a time, whatever the recipe's depth: a wake-up costs more than such a batch.
int Loader::depth() const {
  constexpr std::int64_t kAlwaysAffordable = std::int64_t{8} << 20;  // bytes
  std::int64_t bytes = 0;
  for (const auto& field : reader_->dataset.facts().fields) {
    std::int64_t elements = 1;
    for (const auto size : field.shape) elements *= size;
    bytes += elements * 8 * reader_->settings.batch_size;  // no dtype is wider
  }
  const std::int64_t small = bytes > 0 ? kAlwaysAffordable / bytes : 0;
  return std::max(reader_->settings.prefetch, static_cast<int>(std::min<std::int64_t>(small, 64)));
}

LoadedWindow Loader::Reader::read(std::int64_t number) const {
  const device::HostScope host;
  LoadedWindow loaded;
  loaded.window = plan.at(number);
  const auto indices = data::indices_of(loaded.window, plan.samples(), settings.shuffle, settings.seed);
  Builder builder(loaded.window.count);
  try {
    const base::PluginCallScope running(settings.table, "read");
    dataset.read(indices, builder, SampleRng(settings.seed, loaded.window.epoch));
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    throw Error(ExitCode::kBug, "dataset.exception", settings.table,
                "reading window " + std::to_string(number) + " threw: " + device::sentence_of(failure));
  }
  loaded.batch.fields = std::move(builder.fields);
  loaded.batch.samples.reserve(indices.size());
  std::int64_t position = loaded.window.first;
  for (const std::int64_t index : indices) loaded.batch.samples.push_back({index, position++});
  loaded.corrupt = std::move(builder.corrupt);
  if (loaded.corrupt.size() > 1)
    std::ranges::sort(loaded.corrupt, {}, [](const CorruptRow& corrupt) { return corrupt.row; });
  return loaded;
}

void remove_rows(Batch& batch, const std::vector<std::int64_t>& rows) {
  const device::HostScope host;
  std::vector<std::int64_t> kept;
  std::vector<SampleRef> samples;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(batch.samples.size()); ++row) {
    if (std::ranges::binary_search(rows, row)) continue;
    kept.push_back(row);
    samples.push_back(batch.samples[static_cast<std::size_t>(row)]);
  }
  const at::Tensor index = at::tensor(kept, at::kLong);
  for (auto& field : batch.fields) field.tensor = field.tensor.index_select(0, index);
  batch.samples = std::move(samples);
}

}  // namespace holdfast::engine
