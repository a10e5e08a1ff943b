// The effective recipe as TOML, and defaults and bounds as text.
#include <cmath>

#include "spec/draft.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

/// TOML text of any value an option may hold.
struct Writer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return format_number(value); }
  std::string operator()(const std::string& value) const { return quote(escape_references(value)); }
  std::string operator()(Duration value) const { return quote(format_duration(value)); }
  std::string operator()(Bytes value) const { return quote(format_size(value)); }
  std::string operator()(const Interval& value) const { return quote(format_interval(value)); }
  std::string operator()(const std::shared_ptr<const Options>& value) const {
    std::string text;
    for (const auto& [key, item] : value->values())
      text += (text.empty() ? "" : ", ") + quote_key(key) + " = " + std::visit(*this, item);
    return text.empty() ? "{}" : "{ " + text + " }";
  }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : ", ") + (*this)(value);
    return "[" + text + "]";
  }
};

std::string bound(const OptionSpec& spec, double value) {
  if (spec.type == OptionType::kDuration) return format_duration(Duration(std::llround(value * 1e9)));
  if (spec.type == OptionType::kSize) return format_size({std::llround(value)});
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  return format_number(value);
}

void write_keys(std::string& out, const OptionTable& keys, const Checked& checked) {
  for (const auto& key : keys.specs())
    if (const auto found = checked.toml.find(key->name); found != checked.toml.end())
      out += quote_key(key->name) + " = " + found->second + "\n";
}

}  // namespace

std::string default_text(const OptionValue& value) { return std::visit(Writer{}, value); }

std::string bounds_text(const OptionSpec& spec) {
  const std::string low = spec.minimum ? bound(spec, *spec.minimum) : "";
  const std::string high = spec.maximum ? bound(spec, *spec.maximum) : "";
  if (spec.minimum && spec.maximum && !spec.exclusive_minimum && !spec.exclusive_maximum)
    return "between " + low + " and " + high;
  std::string text = spec.minimum ? (spec.exclusive_minimum ? "above " : "at least ") + low : "";
  if (spec.maximum)
    text += (text.empty() ? "" : " and ") + std::string(spec.exclusive_maximum ? "below " : "at most ") + high;
  return text;
}

std::string effective_toml(const Draft& draft) {
  std::string out = "# The effective recipe: every default written out, paths absolute. ${NAME} is left as it was.\n";
  const auto runner = [&](std::string_view name) {
    for (const RunnerTable& table : runner_tables()) {
      if (table.name != name) continue;
      std::string keys;
      write_keys(keys, *table.keys, draft.runner.find(name)->second);
      if (!keys.empty()) out += "\n[" + std::string(name) + "]\n" + keys;
    }
  };
  runner("run");
  for (const DraftPlugin& plugin : draft.plugins) {
    out += "\n[" + plugin.table + "]\n";
    write_keys(out, *plugin.place->keys, plugin.own);
    if (plugin.declared) write_keys(out, *plugin.declared, plugin.options);
    for (const Entry& entry : plugin.unchecked) out += quote_key(entry.key) + " = " + to_toml(entry.value) + "\n";
  }
  for (const RunnerTable& table : runner_tables())
    if (table.name != "run") runner(table.name);
  return out;
}

}  // namespace holdfast::spec
