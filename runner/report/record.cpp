// nlohmann/json's event parser: nothing is built for what is not wanted, and depth is refused before it costs a stack.
#include "report/record.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/quantity.hpp"

namespace holdfast::report {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostFields = 200;

/// The callbacks that nlohmann::json::sax_parse asks for; false ends the parse.
class Flattener {
 public:
  explicit Flattener(Record& into) : into_(into) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return fits ? put(static_cast<std::int64_t>(value)) : put(static_cast<double>(value));
  }
  bool number_float(double value, const std::string& /*text*/) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(false); }
  bool key(std::string& name) {
    name_ = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return !path_.empty() && open(true); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/, const nlohmann::json::exception& /*why*/) {
    return false;
  }

 private:
  struct Level {
    std::string prefix;
    bool array = false;
  };
  bool open(bool array) {
    if (path_.size() == kDeepest) return false;
    const std::string prefix = path_.empty() ? "" : path_.back().prefix + name_ + ".";
    path_.push_back({prefix, array || (!path_.empty() && path_.back().array)});
    return true;
  }
  bool close() {
    path_.pop_back();
    return true;
  }
  template <class T>
  bool put(T&& value) {
    if (path_.empty()) return false;  // a bare value is no object
    if (!path_.back().array && into_.fields.size() < kMostFields)
      into_.fields.emplace_back(path_.back().prefix + name_, Value(std::forward<T>(value)));
    return true;
  }

  Record& into_;
  std::vector<Level> path_;
  std::string name_;
};

}  // namespace

const Value* Record::find(std::string_view name) const {
  const auto found =
      std::find_if(fields.rbegin(), fields.rend(), [&](const auto& field) { return field.first == name; });
  return found == fields.rend() ? nullptr : &found->second;
}

std::string Record::text(std::string_view name) const {
  const Value* value = find(name);
  const auto* held = value ? std::get_if<std::string>(value) : nullptr;
  return held ? *held : std::string();
}

std::optional<double> Record::number(std::string_view name) const {
  const Value* value = find(name);
  if (!value) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(value)) return *real;
  return std::nullopt;
}

std::int64_t Record::integer(std::string_view name, std::int64_t fallback) const {
  const Value* value = find(name);
  const auto* whole = value ? std::get_if<std::int64_t>(value) : nullptr;
  return whole ? *whole : fallback;
}

bool Record::flag(std::string_view name) const {
  const Value* value = find(name);
  const auto* held = value ? std::get_if<bool>(value) : nullptr;
  return held && *held;
}

std::optional<Record> read_record(std::string_view json) {
  Record record;
  Flattener flattener(record);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &flattener)) return std::nullopt;
  return record;
}

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return quantity(*real, Unit::kNumber);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "-";
}

}  // namespace holdfast::report
