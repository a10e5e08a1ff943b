// What every plugin component is, and what the host lends it. Torch-free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {

enum class Kind { kModel, kDataset, kStrategy, kHook };

/// Base of all plugin components. Destroyed by the host before the process ends; its library is never unloaded.
class HOLDFAST_VISIBLE Component {
 public:
  virtual ~Component() = default;
  /// Optional abilities by name ("holdfast.xyz.v1"); null when absent. The pointer lives as long as the component.
  virtual void* extension(std::string_view /*id*/) noexcept { return nullptr; }

 protected:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
};

/// Lines for the run log. Thread-safe. One short sentence a call.
class HOLDFAST_VISIBLE Log {
 public:
  virtual ~Log() = default;
  virtual void info(std::string_view text) = 0;
  virtual void warn(std::string_view text) = 0;
};

/// Gauges of a component, exported with the run. Thread-safe, cheap enough for every micro-batch.
class HOLDFAST_VISIBLE Metrics {
 public:
  virtual ~Metrics() = default;
  virtual void gauge(std::string_view name, double value) = 0;
};

/// One field of a sample as the data set yields it. `dtype` is a torch name ("float32", "int64").
struct FieldInfo {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;  ///< of one sample, without the batch dimension
  std::int64_t classes = 0;         ///< labels lie in [0, classes); 0: not a label
};

/// What a model may know of its data before it is built.
struct DataFacts {
  std::vector<FieldInfo> fields;
  [[nodiscard]] const FieldInfo* find(std::string_view name) const {
    for (const auto& field : fields)
      if (field.name == name) return &field;
    return nullptr;
  }
};

/// Handed to every component at construction. References outlive the component.
struct Context {
  Log& log;
  Metrics& metrics;
  std::string table;                ///< the component's place in the recipe: "model", "hook.periodic_checkpoint"
  const DataFacts* data = nullptr;  ///< of the training set; null for data sets
};

}  // namespace holdfast
