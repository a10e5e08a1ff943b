// Durations, sizes and intervals as text with units, and back. Torch-free; knows neither recipes nor places.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "holdfast/options.hpp"

namespace holdfast::spec {

/// A parsed quantity, or a clause that says why the text is none ("needs a unit") with the next action.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string problem, hint;
};

/// "90 s", "1.5 h", "24h". Units: ns us ms s sec min h d and their long forms. Never negative; overflow is a problem.
Parsed<Duration> parse_duration(std::string_view text);
/// "512MiB", "2.5 GB". Units: B KB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024). Whole bytes only.
Parsed<Bytes> parse_size(std::string_view text);
/// "500 updates", "1 epoch", or a duration. Counts are whole and at least 1, a time is above zero.
Parsed<Interval> parse_interval(std::string_view text);

/// The shortest text that parses to the same value: "10 min", "512MiB", "1 epoch".
std::string format_duration(Duration value);
std::string format_size(Bytes value);
std::string format_interval(const Interval& value);

/// A number as TOML and JSON write it, shortest form that reads back to the same double: "0.001", "1.0", "1e-08".
std::string format_number(double value);

/// What is watched and which way is better: "eval.loss:min".
struct MetricGoal {
  std::string metric;  ///< without "eval.": "loss", "accuracy"
  bool maximise = false;
};
Parsed<MetricGoal> parse_metric_goal(std::string_view text);

}  // namespace holdfast::spec
