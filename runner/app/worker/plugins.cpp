// `holdfast plugins`: what is found on the search path, what one plugin offers, whether one file would load.
#include <array>

#include "app/worker/catalog.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/option_text.hpp"
#include "base/io_error.hpp"
#include "base/text.hpp"
#include "host/component_name.hpp"
#include "spec/describe.hpp"

namespace holdfast::app {
namespace {

using Json = nlohmann::ordered_json;
using host::PluginReport;

std::string status_text(const PluginReport& report) {
  switch (report.status) {
    case PluginReport::Status::kOk:
      return "ok";
    case PluginReport::Status::kShadowed:
      return "shadowed";
    default:
      return "refused (" + std::to_string(static_cast<int>(report.error->code())) + ")";
  }
}

Json to_json(const PluginReport& report) {
  Json object = {{"name", report.name},
                 {"path", report.path},
                 {"origin", std::string(host::origin_name(report.origin))},
                 {"status", status_text(report)}};
  if (!report.reason.empty()) object["reason"] = report.reason;
  if (report.stamp)
    object["stamp"] = {{"abi", report.stamp->abi}, {"torch", report.stamp->torch}, {"version", report.stamp->version}};
  if (!report.library) return object;
  object["summary"] = report.library->summary;
  object["components"] = Json::array();
  for (const auto& component : report.library->components)
    object["components"].push_back({{"kind", std::string(host::kind_name(component.kind))},
                                    {"name", component.name},
                                    {"summary", component.summary},
                                    {"options", option_json(component.options)}});
  return object;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = lines.find('\n', at);
    text += "    " + lines.substr(at, end - at) + "\n";
  }
  return text;
}

std::string details(const PluginReport& report) {
  std::string text = report.name + "  " + report.path + "\n";
  if (!report.library) return text + "  " + status_text(report) + ": " + report.reason + "\n";
  text += "  " + report.library->summary + " (version " + report.library->stamp.version + ")\n";
  for (const auto& component : report.library->components)
    text += "\n  " + std::string(host::kind_name(component.kind)) + " '" + component.name + "': " + component.summary +
            "\n" + indented(spec::describe(component.options));
  return base::terminal_safe(text);
}

std::string table(const std::vector<PluginReport>& reports) {
  std::vector<std::array<std::string, 4>> cells = {{"PLUGIN", "STATUS", "FROM", "OFFERS"}};
  for (const auto& report : reports)
    cells.push_back({report.name, status_text(report), std::string(host::origin_name(report.origin)),
                     report.library ? report.library->contents() : report.reason.substr(0, report.reason.find('\n'))});
  std::array<std::size_t, 4> width{};
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string text;
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i)
      text += base::terminal_safe_line(line[i]) +
              (i + 1 < line.size() ? std::string(width[i] - line[i].size() + 2, ' ') : "\n");
  return text;
}

int show(const CommandLine& line, const PluginReport& report) {
  if (line.json) print(to_json(report).dump(2) + "\n");
  if (report.error) throw Error(*report.error);
  if (!line.json) print(details(report));
  return 0;
}

}  // namespace

int plugins_command(const CommandLine& line, Frame& frame) {
  const auto host = make_host(line, {}, frame.log);
  if (!line.check.empty()) return show(line, host->check(base::absolute_path(line.check)));
  if (!line.targets.empty()) return show(line, host->report(line.targets.front()));
  const auto reports = host->list();
  if (!line.json) return print(table(reports)), 0;
  Json list = Json::array();
  for (const auto& report : reports) list.push_back(to_json(report));
  print(list.dump(2) + "\n");
  return 0;
}

}  // namespace holdfast::app
