// The engine's loader does the reading: the same way, order and threads as in training.
#include "app/worker/data_check.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "engine/loader.hpp"
#include "engine/weighing.hpp"

namespace holdfast::app {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;
constexpr std::size_t kReasons = 10;

std::string field_text(const FieldInfo& field) {
  std::string text = field.name + " " + field.dtype + " [";
  for (std::size_t i = 0; i < field.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(field.shape[i]);
  return text + "]" + (field.classes > 0 ? " of " + std::to_string(field.classes) + " classes" : "");
}

}  // namespace

DataCheck check_data(const Dataset& dataset, const Model& model, const std::string& table, int threads) {
  DataCheck check{table, dataset.size(), 0, dataset.facts().fields, {}};
  engine::LoaderSettings settings;
  settings.table = table;
  settings.batch_size = std::min(kRowsAtOnce, std::max<std::int64_t>(check.samples, 1));
  settings.threads = threads;
  engine::Loader loader(dataset, settings);
  loader.start(0, loader.plan().windows_per_epoch());
  while (!loader.done()) {
    auto loaded = loader.next();
    for (const auto& row : loaded.corrupt) {
      ++check.corrupt;
      if (check.reasons.size() < kReasons)
        check.reasons.push_back("sample " +
                                std::to_string(loaded.batch.samples.at(static_cast<std::size_t>(row.row)).index) +
                                " of " + row.source + ": " + row.reason);
    }
    std::vector<std::int64_t> unreadable;
    for (const auto& row : loaded.corrupt) unreadable.push_back(row.row);
    if (!unreadable.empty()) engine::remove_rows(loaded.batch, unreadable);
    engine::weigh(model, {&loaded.batch, 1}, table);
  }
  return check;
}

std::string data_table(const std::vector<DataCheck>& checks) {
  std::string text = "DATA SET         SAMPLES   CORRUPT  FIELDS\n";
  char line[128];
  for (const auto& check : checks) {
    std::snprintf(line, sizeof line, "%-14s %9lld %9lld  ", check.table.c_str(), static_cast<long long>(check.samples),
                  static_cast<long long>(check.corrupt));
    text += line;
    for (const auto& field : check.fields) text += (&field == &check.fields.front() ? "" : ", ") + field_text(field);
    text += "\n";
    for (const auto& reason : check.reasons) text += "    " + base::terminal_safe_line(reason) + "\n";
    if (check.corrupt > static_cast<std::int64_t>(check.reasons.size()))
      text += "    and " + std::to_string(check.corrupt - static_cast<std::int64_t>(check.reasons.size())) + " more\n";
  }
  return text;
}

}  // namespace holdfast::app
