// Option tables rendered for people.
#include "spec/describe.hpp"

#include "spec/check.hpp"

namespace holdfast::spec {
namespace {

std::string scalar_name(OptionType type) {
  switch (item_type(type)) {
    case OptionType::kBoolean:
      return "boolean";
    case OptionType::kInteger:
      return "integer";
    case OptionType::kNumber:
      return "number";
    case OptionType::kString:
      return "string";
    case OptionType::kPath:
      return "path";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kSize:
      return "size";
    case OptionType::kInterval:
      return "interval";
    default:
      return "table";
  }
}

/// Calls visit(full name, option) for each option, inner ones after their table.
template <class Visit>
void each(const OptionTable& table, const std::string& prefix, const Visit& visit) {
  for (const auto& spec : table.specs()) {
    visit(prefix + spec->name, *spec);
    if (spec->table) each(*spec->table, prefix + spec->name + ".", visit);
  }
}

/// A pipe would end the cell, a line break the row.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string help_text(const OptionSpec& spec) {
  if (spec.not_built.empty()) return spec.help;
  return spec.help + (spec.help.empty() ? "" : " ") + "Not yet built.";
}

}  // namespace

std::string type_name(const OptionSpec& spec) {
  const std::string name = scalar_name(spec.type);
  if (!is_list(spec)) return name;
  return (spec.single_allowed ? name + " or list of " : "list of ") + name + "s";
}

std::string allowed_text(const OptionSpec& spec) {
  const bool list = is_list(spec);
  std::string text = bounds_text(spec);
  for (std::size_t i = 0; i < spec.choices.size(); ++i)
    text += (i == 0 ? (text.empty() ? "one of " : ", one of ") : ", ") + quote(spec.choices[i]);
  if (list && !text.empty()) text = "each " + text;
  if (spec.minimum_items > 0)
    text += (text.empty() ? "at least " : "; at least ") + std::to_string(spec.minimum_items) +
            (spec.minimum_items == 1 ? " item" : " items");
  return text;
}

std::string fallback_text(const OptionSpec& spec) {
  if (spec.fallback) return default_text(*spec.fallback);
  return spec.is_required ? "required" : "not set";
}

std::string describe(const OptionTable& table) {
  std::string out;
  each(table, "", [&](const std::string& name, const OptionSpec& spec) {
    const std::string allowed = allowed_text(spec);
    out += name + "  " + type_name(spec) + (allowed.empty() ? "" : ", " + allowed) + "; " +
           (spec.fallback ? "default " : "") + fallback_text(spec) + "\n";
    if (const std::string help = help_text(spec); !help.empty()) out += "    " + help + "\n";
  });
  return out.empty() ? "(no options)\n" : out;
}

std::string describe_markdown(const OptionTable& table) {
  std::string out = "| option | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  each(table, "", [&](const std::string& name, const OptionSpec& spec) {
    const std::string fallback = fallback_text(spec);
    out += "| `" + cell(name) + "` | " + type_name(spec) + " | " +
           (spec.fallback ? "`" + cell(fallback) + "`" : fallback) + " | " + cell(allowed_text(spec)) + " | " +
           cell(help_text(spec)) + " |\n";
  });
  return out;
}

}  // namespace holdfast::spec
