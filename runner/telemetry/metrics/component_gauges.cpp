// A component's own map of handles: two components never wait for each other, and a known name costs one look-up.
#include "telemetry/metrics/component_gauges.hpp"

#include <new>

namespace holdfast::telemetry {

class ComponentGauges::Component final : public Metrics {
 public:
  Component(ComponentGauges& all, std::string table) : all_(all), table_(std::move(table)) {}

  void gauge(std::string_view name, double value) override {
    try {
      const std::lock_guard lock(mutex_);
      auto found = handles_.find(name);
      if (found == handles_.end()) {
        if (full_) return;  // names that come after the bound are not remembered: they may be endless
        auto* handle = all_.series(table_, label_text(name));
        full_ = handle == nullptr;
        if (full_) return;
        found = handles_.emplace(name, handle).first;
      }
      found->second->Set(value);
    } catch (const std::bad_alloc&) {  // a figure less is no reason to end a run
    }
  }

 private:
  ComponentGauges& all_;
  const std::string table_;
  std::mutex mutex_;
  std::map<std::string, prometheus::Gauge*, std::less<>> handles_;
  bool full_ = false;
};

ComponentGauges::ComponentGauges(Families& families, int most, std::function<void(std::string_view)> warn)
    : families_(families), left_(most), most_(most), warn_(std::move(warn)) {}

ComponentGauges::~ComponentGauges() = default;

Metrics& ComponentGauges::of(const std::string& table) {
  const std::lock_guard lock(mutex_);
  auto& component = components_[table];
  if (!component) component = std::make_unique<Component>(*this, table);
  return *component;
}

prometheus::Gauge* ComponentGauges::series(const std::string& table, const std::string& name) {
  if (left_.fetch_sub(1) > 0)
    return &families_.gauge("holdfast_component_value", {{"component", label_text(table)}, {"name", name}});
  if (!told_.exchange(true) && warn_)
    warn_("metrics: components report more than " + std::to_string(most_) + " figures; those of new names, like '" +
          name + "' of " + table + ", are not exported");
  return nullptr;
}

}  // namespace holdfast::telemetry
