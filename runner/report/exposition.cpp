// A reader of one line at a time; https://prometheus.io/docs/instrumenting/exposition_formats/ has the grammar.
#include "report/exposition.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace holdfast::report {
namespace {

constexpr std::size_t kMostSamples = 5000;

/// Takes `name="value",` off the front of `text`; false when there is none.
bool take_label(std::string_view& text, Sample& into) {
  const auto equals = text.find("=\"");
  if (equals == std::string_view::npos) return false;
  const std::string name(text.substr(0, equals));
  text.remove_prefix(equals + 2);
  std::string value;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\' && text.size() > 1) {
      text.remove_prefix(1);
      value += text.front() == 'n' ? '\n' : text.front();
    } else {
      value += text.front();
    }
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  if (!text.empty() && text.front() == ',') text.remove_prefix(1);
  into.labels[name] = std::move(value);
  return true;
}

std::optional<Sample> read_sample(std::string_view line) {
  Sample sample;
  const auto end = line.find_first_of("{ ");
  if (line.empty() || line.front() == '#' || end == std::string_view::npos) return std::nullopt;
  sample.name = line.substr(0, end);
  line.remove_prefix(end);
  if (line.front() == '{') {
    line.remove_prefix(1);
    while (!line.empty() && line.front() != '}')
      if (!take_label(line, sample)) return std::nullopt;
    if (line.empty()) return std::nullopt;
    line.remove_prefix(1);
  }
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (line.starts_with('+')) line.remove_prefix(1);  // from_chars knows no plus
  const auto read = std::from_chars(line.data(), line.data() + line.size(), sample.value);
  if (read.ec != std::errc{}) return std::nullopt;
  return sample;
}

bool has(const Sample& sample, std::string_view name, std::string_view label, std::string_view value) {
  if (sample.name != name) return false;
  if (label.empty()) return true;
  const auto found = sample.labels.find(label);
  return found != sample.labels.end() && found->second == value;
}

}  // namespace

std::vector<Sample> read_exposition(std::string_view text) {
  std::vector<Sample> samples;
  while (!text.empty() && samples.size() < kMostSamples) {
    const auto end = std::min(text.find('\n'), text.size());
    if (auto sample = read_sample(text.substr(0, end))) samples.push_back(std::move(*sample));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return samples;
}

std::optional<double> total(const std::vector<Sample>& samples, std::string_view name, std::string_view label,
                            std::string_view value) {
  std::optional<double> sum;
  for (const Sample& sample : samples)
    if (has(sample, name, label, value)) sum = sum.value_or(0) + sample.value;
  return sum;
}

std::optional<double> quantile(const std::vector<Sample>& samples, std::string_view name, std::string_view label,
                               std::string_view value, double share) {
  std::vector<std::pair<double, double>> buckets;  // upper bound, observations up to it
  const std::string bucket = std::string(name) + "_bucket";
  for (const Sample& sample : samples) {
    const auto bound = sample.labels.find("le");
    if (!has(sample, bucket, label, value) || bound == sample.labels.end()) continue;
    double upper = std::numeric_limits<double>::infinity();
    if (bound->second != "+Inf")
      std::from_chars(bound->second.data(), bound->second.data() + bound->second.size(), upper);
    buckets.emplace_back(upper, sample.value);
  }
  std::sort(buckets.begin(), buckets.end());
  if (buckets.size() < 2 || !(buckets.back().second > 0)) return std::nullopt;
  const double rank = share * buckets.back().second;
  double below = 0, seen = 0;
  for (const auto& [upper, count] : buckets) {
    if (count >= rank && count > seen)
      return upper == std::numeric_limits<double>::infinity()
                 ? below
                 : below + (upper - below) * (rank - seen) / (count - seen);
    below = upper;
    seen = count;
  }
  return std::nullopt;
}

}  // namespace holdfast::report
