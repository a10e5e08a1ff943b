// What plugins' components report, one series a component and name. Private to this folder.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "holdfast/component.hpp"
#include "telemetry/metrics/family.hpp"

namespace holdfast::telemetry {

/// Hands out the series of all components up to a bound. Any thread.
class ComponentGauges {
 public:
  /// `families` outlives this object. `warn` is called once, when the bound is met; it may be empty.
  ComponentGauges(Families& families, int most, std::function<void(std::string_view)> warn);
  ~ComponentGauges();
  ComponentGauges(const ComponentGauges&) = delete;
  ComponentGauges& operator=(const ComponentGauges&) = delete;

  /// The gauges of one component; the same object for the same table.
  Metrics& of(const std::string& table);

 private:
  class Component;
  /// Null once the bound is met.
  prometheus::Gauge* series(const std::string& table, const std::string& name);

  Families& families_;
  std::atomic<int> left_;
  const int most_;
  std::function<void(std::string_view)> warn_;
  std::atomic<bool> told_{false};
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Component>> components_;
};

}  // namespace holdfast::telemetry
