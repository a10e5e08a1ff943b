// Every metric that a run exports: the one list from which registration, `holdfast metrics --list`, the documentation
// and the checks of dashboards come. Knows no registry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::telemetry {

enum class MetricType { kCounter, kGauge, kHistogram };

/// When the series of a family are in the exposition: from the start (values known in advance begin at 0), once what
/// they tell has happened, or when the process ends.
enum class Appears { kFromStart, kOnceKnown, kAtEnd };

struct MetricInfo {
  std::string_view name;
  MetricType type{};
  std::string_view unit;    ///< "seconds", "bytes", ...; empty: a count or a figure without unit
  std::string_view labels;  ///< besides `run`, separated by spaces
  Appears appears{};
  std::string_view help;              ///< one line of plain ASCII, never changed once released (ops: frozen help)
  std::span<const double> buckets{};  ///< histograms: upper bounds
};

/// Grouped by family; the order of the documentation.
std::span<const MetricInfo> catalogue();
/// Throws std::logic_error when there is none: a name in code that the catalogue does not have is a bug.
const MetricInfo& metric(std::string_view name);

/// Values that a label takes, known in advance; empty for open sets.
std::span<const std::string_view> label_values(std::string_view metric, std::string_view label);

std::string catalogue_text();      ///< for terminals: name, type, labels, help
std::string catalogue_markdown();  ///< a table with a heading
std::string catalogue_json();      ///< an array of objects

}  // namespace holdfast::telemetry
