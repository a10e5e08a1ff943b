// The figures of metrics.prom that a report shows: Prometheus' text format 0.0.4, as far as holdfast writes it. Private
// to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::report {

struct Sample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
};

/// Lines that cannot be read are left out; at most 5000 samples.
std::vector<Sample> read_exposition(std::string_view text);

/// The sum of all samples of this name with this label value (any, when `label` is empty); none without any.
std::optional<double> total(const std::vector<Sample>& samples, std::string_view name, std::string_view label = {},
                            std::string_view value = {});

/// Quantiles of the histogram `name` with `label`=`value`, linear within a bucket (as Prometheus' histogram_quantile).
/// None without observations; the last bound where the quantile lies beyond it.
std::optional<double> quantile(const std::vector<Sample>& samples, std::string_view name, std::string_view label,
                               std::string_view value, double share);

}  // namespace holdfast::report
