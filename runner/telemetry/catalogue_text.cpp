// The three forms of the list. JSON by hand: every text in it is ASCII without quotes, and json_string takes the rest.
#include <array>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "telemetry/catalogue.hpp"

namespace holdfast::telemetry {
namespace {

std::string_view word(MetricType type) {
  constexpr std::array<std::string_view, 3> kWords = {"counter", "gauge", "histogram"};
  return kWords[static_cast<std::size_t>(type)];
}

std::string_view word(Appears appears) {
  constexpr std::array<std::string_view, 3> kWords = {"start", "once known", "end"};
  return kWords[static_cast<std::size_t>(appears)];
}

std::vector<std::string> labels_of(const MetricInfo& info) {
  std::vector<std::string> labels = {"run"};
  std::istringstream words{std::string(info.labels)};
  for (std::string label; words >> label;) labels.push_back(label);
  return labels;
}

std::string json_array(std::span<const std::string> texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + base::json_string(text);
  return "[" + out + "]";
}

/// "state: pending, running" for labels whose values are known; the bare label otherwise.
std::string label_cell(const MetricInfo& info) {
  std::string cell;
  for (const auto& label : labels_of(info)) {
    std::string values;
    for (const auto value : label_values(info.name, label)) values += (values.empty() ? "" : ", ") + std::string(value);
    cell += (cell.empty() ? "`" : ", `") + label + "`" + (values.empty() ? "" : " (" + values + ")");
  }
  return cell;
}

}  // namespace

std::string catalogue_text() {
  std::string text;
  for (const MetricInfo& info : catalogue()) {
    text +=
        std::string(info.name) + "{" + base::join(labels_of(info), ",") + "}  " + std::string(word(info.type)) + "\n";
    text += "  " + std::string(info.help) + "\n";
  }
  return text;
}

std::string catalogue_markdown() {
  std::string text =
      "| metric | type | unit | labels | from | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const MetricInfo& info : catalogue())
    text += "| `" + std::string(info.name) + "` | " + std::string(word(info.type)) + " | " + std::string(info.unit) +
            " | " + label_cell(info) + " | " + std::string(word(info.appears)) + " | " + std::string(info.help) +
            " |\n";
  return text;
}

std::string catalogue_json() {
  std::string text;
  for (const MetricInfo& info : catalogue()) {
    const auto pair = [](const char* key, std::string_view value) {
      return std::string("\"") + key + "\": " + base::json_string(value);
    };
    std::vector<std::string> bounds;
    for (const double bound : info.buckets) {
      std::ostringstream number;
      number.imbue(std::locale::classic());
      number << bound;
      bounds.push_back(number.str());
    }
    text += (text.empty() ? "  {" : ",\n  {") + pair("name", info.name) + ", " + pair("type", word(info.type)) + ", " +
            pair("unit", info.unit) + ", \"labels\": " + json_array(labels_of(info)) + ", " +
            pair("from", word(info.appears)) + ", " + pair("help", info.help) + ", \"buckets\": [" +
            base::join(bounds, ", ") + "]}";
  }
  return "[\n" + text + "\n]\n";
}

}  // namespace holdfast::telemetry
