// The recipe as it stands in the run's folder, its parts coloured, and the machine.
#include "base/text.hpp"
#include "report/html.hpp"
#include "report/quantity.hpp"
#include "report/sections.hpp"

namespace holdfast::report {
namespace {

std::string span(const char* name, std::string_view text) {
  return "<span class=\"" + std::string(name) + "\">" + html_lines(text) + "</span>";
}

/// Where a comment begins, outside of strings; the length of the line without one.
std::size_t comment_of(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == '"' && line[i] == '\\') {
      ++i;
    } else if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return i;
    }
  }
  return line.size();
}

std::string coloured(std::string_view line) {
  const std::size_t end = comment_of(line);
  const std::string_view code = line.substr(0, end), comment = line.substr(end);
  const std::string tail = comment.empty() ? "" : span("comment", comment);
  if (code.starts_with("[")) return span("table", code) + tail;
  const auto equals = code.find(" = ");
  if (equals == std::string_view::npos) return html_lines(code) + tail;
  const std::string_view value = code.substr(equals + 3);
  const bool text = value.starts_with("\"") || value.starts_with("'");
  return span("name", code.substr(0, equals)) + " = " + (text ? span("text", value) : span("value", value)) + tail;
}

std::string fact(const Record& facts, const char* field, const char* label, Unit unit = Unit::kNumber) {
  const Value* value = facts.find(field);
  if (!value) return {};
  const auto number = facts.number(field);
  const std::string text = unit == Unit::kBytes && number ? quantity(*number, unit) : value_text(*value);
  return text.empty() ? std::string() : "<tr><th>" + std::string(label) + "</th><td>" + html(text) + "</td></tr>";
}

}  // namespace

std::string recipe_section(const Material& material) {
  if (material.recipe.empty()) return {};
  std::string code;
  std::string_view rest = material.recipe;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    code += coloured(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "<section class=\"card\"><h2>Recipe</h2><details open><summary>as it took effect, every default written "
         "out</summary><pre>" +
         code + "</pre></details>" +
         (material.recipe_cut ? "<p class=\"note\">Cut here; recipe.toml has the rest.</p>" : "") + "</section>\n";
}

std::string environment_section(const Material& material) {
  const Record& facts = material.history.facts;
  const std::string rows = fact(facts, "version", "holdfast") + fact(facts, "libtorch", "LibTorch") +
                           fact(facts, "device", "device") + fact(facts, "threads", "compute threads") +
                           fact(facts, "strategies", "strategies") + fact(facts, "host", "host") +
                           fact(facts, "system", "system") + fact(facts, "processor", "processor") +
                           fact(facts, "cores", "cores") + fact(facts, "memory_total_bytes", "memory", Unit::kBytes) +
                           fact(facts, "memory_budget_bytes", "device budget", Unit::kBytes);
  if (rows.empty()) return {};
  return "<section class=\"card\"><h2>Environment</h2><div class=\"scroll\"><table class=\"facts\"><tbody>" + rows +
         "</tbody></table></div></section>\n";
}

}  // namespace holdfast::report
