// Families of a registry made from the catalogue. The only place that creates series: what the catalogue does not list
// cannot be exported. Private to this folder.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::telemetry {

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

/// Valid UTF-8 of at most 200 bytes, cut between characters: what a label may hold of a foreign text.
std::string label_text(std::string_view text);

/// Adds series to one registry, all with the label `run`. Names that the catalogue does not have, or has with another
/// type, throw std::logic_error. Any thread: prometheus-cpp locks a family while a series is added. References live as
/// long as the registry; the same labels give the same series.
class Families {
 public:
  Families(prometheus::Registry& registry, std::string run);

  prometheus::Counter& counter(std::string_view name, const Labels& labels = {});
  prometheus::Gauge& gauge(std::string_view name, const Labels& labels = {});
  prometheus::Histogram& histogram(std::string_view name, const Labels& labels = {});

  /// Every value that the catalogue knows of `label`, by value. For series that begin at 0.
  std::map<std::string, prometheus::Counter*, std::less<>> counters(std::string_view name, std::string_view label);
  std::map<std::string, prometheus::Gauge*, std::less<>> gauges(std::string_view name, std::string_view label);

 private:
  [[nodiscard]] std::map<std::string, std::string> all(const Labels& labels) const;
  prometheus::Registry& registry_;
  std::string run_;
};

}  // namespace holdfast::telemetry
