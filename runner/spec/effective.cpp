// The effective recipe as TOML, and defaults and bounds as text.
#include <algorithm>
#include <cmath>
#include <functional>

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

using Lines = std::vector<std::pair<std::string, std::string>>;  // key, TOML text

void add_keys(Lines& lines, const OptionTable& keys, const Checked& checked) {
  for (const auto& key : keys.specs())
    if (const auto found = checked.toml.find(key->name); found != checked.toml.end())
      lines.emplace_back(key->name, found->second);
}

/// Calls `see` with every table in canonical order; `plugin` is null for tables of the runner alone.
void each_table(const Draft& draft,
                const std::function<void(const std::string&, const Lines&, const DraftPlugin*)>& see) {
  const auto runner = [&](const RunnerTable& table) {
    Lines lines;
    add_keys(lines, *table.keys, draft.runner.find(table.name)->second);
    see(std::string(table.name), lines, nullptr);
  };
  for (const RunnerTable& table : runner_tables())
    if (table.name == "run") runner(table);
  for (const DraftPlugin& plugin : draft.plugins) {
    Lines lines;
    add_keys(lines, *plugin.place->keys, plugin.own);
    if (plugin.declared) add_keys(lines, *plugin.declared, plugin.options);
    for (const Entry& entry : plugin.unchecked) lines.emplace_back(entry.key, to_toml(entry.value));
    see(plugin.table, lines, &plugin);
  }
  for (const RunnerTable& table : runner_tables())
    if (table.name != "run") runner(table);
}

/// A URL may carry a password before '@' or after '?'; what is logged must not.
std::string without_userinfo(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("\"'/ ,", at), text.size());
    const std::size_t sign = text.substr(0, end).rfind('@');
    if (sign != std::string::npos && sign >= at) text.erase(at, sign + 1 - at);
    const std::size_t stop = std::min(text.find_first_of("\"' ,", at), text.size());
    const std::size_t query = text.find('?', at);
    if (query < stop) text.erase(query, stop - query);
  }
  return text;
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
  each_table(draft, [&](const std::string& name, const Lines& lines, const DraftPlugin* plugin) {
    if (lines.empty() && !plugin) return;
    out += "\n[" + name + "]\n";
    for (const auto& [key, text] : lines) out += quote_key(key) + " = " + text + "\n";
  });
  return out;
}

std::vector<std::pair<std::string, std::string>> choices_of(const Draft& draft) {
  Lines choices;
  each_table(draft, [&](const std::string& name, const Lines& lines, const DraftPlugin* plugin) {
    if (plugin && !plugin->enabled) return;
    for (const auto& [key, text] : lines) choices.emplace_back(name + "." + key, without_userinfo(text));
  });
  return choices;
}

}  // namespace holdfast::spec
