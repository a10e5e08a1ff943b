// Registration merges by name, so a family is found again by registering it once more (not for the hot path).
#include "telemetry/metrics/family.hpp"

#include <stdexcept>

#include "base/text.hpp"
#include "telemetry/catalogue.hpp"

namespace holdfast::telemetry {
namespace {

constexpr std::size_t kLongestLabel = 200;

const MetricInfo& checked(std::string_view name, MetricType type) {
  const MetricInfo& info = metric(name);
  if (info.type != type) throw std::logic_error("metric '" + std::string(name) + "' has another type in the catalogue");
  return info;
}

template <class Builder>
auto& registered(Builder builder, const MetricInfo& info, prometheus::Registry& registry) {
  return builder.Name(std::string(info.name)).Help(std::string(info.help)).Register(registry);
}

}  // namespace

std::string label_text(std::string_view text) {
  std::string whole = base::valid_utf8(text.substr(0, 2 * kLongestLabel));
  if (whole.size() <= kLongestLabel) return whole;
  std::size_t end = 0;
  while (true) {
    const std::size_t length = base::utf8_length(std::string_view(whole).substr(end));
    if (end + length > kLongestLabel) break;
    end += length;
  }
  return whole.substr(0, end);
}

Families::Families(prometheus::Registry& registry, std::string run)
    : registry_(registry), run_(base::valid_utf8(run)) {}

std::map<std::string, std::string> Families::all(const Labels& labels) const {
  std::map<std::string, std::string> out = {{"run", run_}};
  for (const auto& [name, value] : labels) out.emplace(name, value);
  return out;
}

prometheus::Counter& Families::counter(std::string_view name, const Labels& labels) {
  return registered(prometheus::BuildCounter(), checked(name, MetricType::kCounter), registry_).Add(all(labels));
}

prometheus::Gauge& Families::gauge(std::string_view name, const Labels& labels) {
  return registered(prometheus::BuildGauge(), checked(name, MetricType::kGauge), registry_).Add(all(labels));
}

prometheus::Histogram& Families::histogram(std::string_view name, const Labels& labels) {
  const MetricInfo& info = checked(name, MetricType::kHistogram);
  return registered(prometheus::BuildHistogram(), info, registry_)
      .Add(all(labels), prometheus::Histogram::BucketBoundaries(info.buckets.begin(), info.buckets.end()));
}

std::map<std::string, prometheus::Counter*, std::less<>> Families::counters(std::string_view name,
                                                                            std::string_view label) {
  std::map<std::string, prometheus::Counter*, std::less<>> out;
  for (const auto value : label_values(name, label)) out.emplace(value, &counter(name, {{label, value}}));
  return out;
}

std::map<std::string, prometheus::Gauge*, std::less<>> Families::gauges(std::string_view name, std::string_view label) {
  std::map<std::string, prometheus::Gauge*, std::less<>> out;
  for (const auto value : label_values(name, label)) out.emplace(value, &gauge(name, {{label, value}}));
  return out;
}

}  // namespace holdfast::telemetry
