// `--set a.b=v` placed into the value tree.
#include <algorithm>

#include "base/text.hpp"
#include "spec/draft.hpp"

namespace holdfast::spec {
namespace {

/// "a.b" taken apart; empty when a piece is not made of letters, digits, '_' and '-'.
std::vector<std::string> pieces(std::string_view key) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t dot = key.find('.');
    const std::string piece(key.substr(0, dot));
    const bool good = !piece.empty() && quote_key(piece) == piece;
    if (!good || out.size() == 16) return {};
    out.push_back(piece);
    if (dot == std::string_view::npos) return out;
    key.remove_prefix(dot + 1);
  }
}

Value& child(Value& table, const std::string& key, const Place& place) {
  if (Value* found = table.find(key)) return *found;
  table.entries.push_back({key, place, {}});
  table.entries.back().value.place = place;
  return table.entries.back().value;
}

/// The length given on the command line replaces the one of the file, whichever of the two keys says it.
void drop_other_length(Value& train, const std::string& key) {
  const std::string other = key == "epochs" ? "updates" : key == "updates" ? "epochs" : "";
  std::erase_if(train.entries,
                [&](const Entry& entry) { return entry.key == other && entry.value.place.override_text.empty(); });
}

void apply(Value& root, const Override& change, Report& report) {
  const Place place{0, 0, "--set " + base::shortened(change.key) + "=" + base::shortened(change.value)};
  const std::vector<std::string> path = pieces(change.key);
  if (path.empty()) {
    report.add(place, "recipe.bad_override",
               "an override names table and key: got '" + base::shortened(change.key) + "'",
               "write for example --set optimizer.lr=1e-3");
    return;
  }
  Value* table = &root;
  std::string walked;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    walked += (walked.empty() ? "" : ".") + path[i];
    table = &child(*table, path[i], place);
    if (table->type == Value::Type::kTable) continue;
    report.add(place, "recipe.bad_override", "'" + walked + "' is no table, so it has no key '" + path[i + 1] + "'");
    return;
  }
  if (walked == "train") drop_other_length(*table, path.back());
  Value raw;
  raw.type = Value::Type::kRaw;
  raw.place = place;
  raw.text = change.value;
  const auto old = std::find_if(table->entries.begin(), table->entries.end(),
                                [&](const Entry& entry) { return entry.key == path.back(); });
  if (old != table->entries.end()) table->entries.erase(old);
  table->entries.push_back({path.back(), place, std::move(raw)});
}

}  // namespace

void apply_overrides(Value& root, const std::vector<Override>& overrides, Report& report) {
  for (const Override& change : overrides) apply(root, change, report);
}

}  // namespace holdfast::spec
