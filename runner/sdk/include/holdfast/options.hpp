// Options are declared once; strict checks, the JSON Schema, `holdfast plugins NAME` and the docs read this table.
// Torch-free. Knows nothing of TOML: the runner fills `Options` from a recipe and hands it to the component.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {

using Duration = std::chrono::nanoseconds;

/// A size in bytes ("512MiB", "2GB").
struct Bytes {
  std::int64_t count = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

/// A distance between two happenings: "500 updates", "1 epoch", "10 min". Exactly one unit is in use.
struct Interval {
  enum class Unit { kUpdates, kEpochs, kTime };
  Unit unit = Unit::kUpdates;
  std::int64_t count = 0;  ///< updates or epochs
  Duration time{};         ///< for kTime
  friend bool operator==(const Interval&, const Interval&) = default;
};

class Options;

/// Any value an option may hold. A path is a string made absolute by the runner.
using OptionValue =
    std::variant<bool, std::int64_t, double, std::string, Duration, Bytes, Interval, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, std::shared_ptr<const Options>>;

enum class OptionType {
  kBoolean,
  kInteger,
  kNumber,
  kString,
  kPath,
  kDuration,
  kSize,
  kInterval,
  kIntegers,
  kNumbers,
  kStrings,
  kPaths,
  kTable,
};

class OptionTable;

/// One declared option. Setters return *this, so that a declaration reads as one line.
class HOLDFAST_VISIBLE OptionSpec {
 public:
  OptionSpec(std::string key, OptionType kind) : name(std::move(key)), type(kind) {}

  OptionSpec& min(double bound) { return minimum = bound, *this; }
  OptionSpec& max(double bound) { return maximum = bound, *this; }
  OptionSpec& above(double bound) { return minimum = bound, exclusive_minimum = true, *this; }
  OptionSpec& below(double bound) { return maximum = bound, exclusive_maximum = true, *this; }
  OptionSpec& one_of(std::vector<std::string> words) { return choices = std::move(words), *this; }
  OptionSpec& required() { return is_required = true, *this; }
  OptionSpec& min_items(std::int64_t n) { return minimum_items = n, *this; }
  OptionSpec& doc(std::string text) { return help = std::move(text), *this; }
  /// A path option that also accepts a list of paths in a recipe; read it with `Options::strings`.
  OptionSpec& or_one() { return single_allowed = true, *this; }
  /// Bounds hold for the number itself and, in lists, for each item. Durations are in seconds, sizes in bytes.
  std::string name;
  OptionType type;
  std::optional<OptionValue> fallback;
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false, exclusive_maximum = false, is_required = false, single_allowed = false;
  std::int64_t minimum_items = 0;
  std::vector<std::string> choices;
  std::string help;
  std::shared_ptr<OptionTable> table;  ///< for kTable
  std::string not_built;               ///< non-empty: known key of a later release; the sentence says so
};

/// The options of one component, or of one table of the runner, in declaration order.
class HOLDFAST_VISIBLE OptionTable {
 public:
  OptionSpec& boolean(std::string name) { return add(std::move(name), OptionType::kBoolean); }
  OptionSpec& boolean(std::string name, bool fallback) { return add(std::move(name), OptionType::kBoolean, fallback); }
  OptionSpec& integer(std::string name) { return add(std::move(name), OptionType::kInteger); }
  OptionSpec& integer(std::string name, std::int64_t fallback) {
    return add(std::move(name), OptionType::kInteger, fallback);
  }
  OptionSpec& number(std::string name) { return add(std::move(name), OptionType::kNumber); }
  OptionSpec& number(std::string name, double fallback) { return add(std::move(name), OptionType::kNumber, fallback); }
  OptionSpec& string(std::string name) { return add(std::move(name), OptionType::kString); }
  OptionSpec& string(std::string name, std::string fallback) {
    return add(std::move(name), OptionType::kString, std::move(fallback));
  }
  OptionSpec& path(std::string name) { return add(std::move(name), OptionType::kPath); }
  OptionSpec& paths(std::string name) { return add(std::move(name), OptionType::kPaths); }
  OptionSpec& duration(std::string name) { return add(std::move(name), OptionType::kDuration); }
  OptionSpec& duration(std::string name, Duration fallback) {
    return add(std::move(name), OptionType::kDuration, fallback);
  }
  OptionSpec& size(std::string name) { return add(std::move(name), OptionType::kSize); }
  OptionSpec& size(std::string name, Bytes fallback) { return add(std::move(name), OptionType::kSize, fallback); }
  OptionSpec& interval(std::string name) { return add(std::move(name), OptionType::kInterval); }
  OptionSpec& interval(std::string name, Interval fallback) {
    return add(std::move(name), OptionType::kInterval, fallback);
  }
  OptionSpec& integers(std::string name) { return add(std::move(name), OptionType::kIntegers); }
  OptionSpec& integers(std::string name, std::vector<std::int64_t> fallback) {
    return add(std::move(name), OptionType::kIntegers, std::move(fallback));
  }
  OptionSpec& numbers(std::string name) { return add(std::move(name), OptionType::kNumbers); }
  OptionSpec& numbers(std::string name, std::vector<double> fallback) {
    return add(std::move(name), OptionType::kNumbers, std::move(fallback));
  }
  OptionSpec& strings(std::string name) { return add(std::move(name), OptionType::kStrings); }
  OptionSpec& strings(std::string name, std::vector<std::string> fallback) {
    return add(std::move(name), OptionType::kStrings, std::move(fallback));
  }
  OptionSpec& table(std::string name, OptionTable inner) {
    OptionSpec& spec = add(std::move(name), OptionType::kTable);
    spec.table = std::make_shared<OptionTable>(std::move(inner));
    return spec;
  }

  [[nodiscard]] const std::vector<std::unique_ptr<OptionSpec>>& specs() const { return specs_; }
  [[nodiscard]] const OptionSpec* find(std::string_view name) const {
    for (const auto& spec : specs_)
      if (spec->name == name) return spec.get();
    return nullptr;
  }

  OptionTable() = default;
  OptionTable(OptionTable&&) = default;
  OptionTable& operator=(OptionTable&&) = default;

 private:
  OptionSpec& add(std::string name, OptionType type, std::optional<OptionValue> fallback = std::nullopt) {
    if (find(name)) throw std::logic_error("option '" + name + "' is declared twice");
    specs_.push_back(std::make_unique<OptionSpec>(std::move(name), type));
    specs_.back()->fallback = std::move(fallback);
    return *specs_.back();
  }
  std::vector<std::unique_ptr<OptionSpec>> specs_;
};

/// Checked values of one table: every key was declared, every type and bound holds, defaults are filled in.
/// Getters throw std::logic_error for a name that was never declared with that type (a bug of the component).
class HOLDFAST_VISIBLE Options {
 public:
  void set(std::string name, OptionValue value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  [[nodiscard]] bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::logic_error("option '" + std::string(name) + "' has no value");
    const T* value = std::get_if<T>(&found->second);
    if (!value) throw std::logic_error("option '" + std::string(name) + "' has another type");
    return *value;
  }
  [[nodiscard]] bool boolean(std::string_view name) const { return get<bool>(name); }
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  [[nodiscard]] double number(std::string_view name) const { return get<double>(name); }
  [[nodiscard]] const std::string& string(std::string_view name) const { return get<std::string>(name); }
  [[nodiscard]] const std::string& path(std::string_view name) const { return get<std::string>(name); }
  [[nodiscard]] const std::vector<std::string>& strings(std::string_view name) const {
    return get<std::vector<std::string>>(name);
  }
  [[nodiscard]] const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  [[nodiscard]] const std::vector<double>& numbers(std::string_view name) const {
    return get<std::vector<double>>(name);
  }
  [[nodiscard]] Duration duration(std::string_view name) const { return get<Duration>(name); }
  [[nodiscard]] Bytes size(std::string_view name) const { return get<Bytes>(name); }
  [[nodiscard]] const Interval& interval(std::string_view name) const { return get<Interval>(name); }
  [[nodiscard]] const Options& table(std::string_view name) const { return *get<std::shared_ptr<const Options>>(name); }
  [[nodiscard]] const std::map<std::string, OptionValue, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, OptionValue, std::less<>> values_;
};

}  // namespace holdfast
