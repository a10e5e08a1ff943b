// What a resumed run was told otherwise than the saved one, key by key. Compares texts; knows no recipe.
#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {
namespace {

constexpr const char* kThreads = "run.threads";
constexpr const char* kMicroBatch = "micro-batch";

const std::string* find(const Texts& texts, const std::string& key) {
  const auto found = std::ranges::find(texts, key, &Texts::value_type::first);
  return found == texts.end() ? nullptr : &found->second;
}

/// "hook.probe" of "hook.probe.every"; empty for what is no key of the recipe.
std::string table_of(const std::string& key) {
  const auto dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::set<std::string> tables_of(const Texts& texts) {
  std::set<std::string> tables;
  for (const auto& [key, value] : texts) tables.insert(table_of(key));
  return tables;
}

/// Saved texts may come from anybody.
std::string shown(const std::string* text) {
  return text ? base::shortened(base::terminal_safe_line(*text)) : std::string("not set");
}

std::string changed(const std::string& key, const std::string* before, const std::string* after) {
  const bool measured = key == kThreads || key == kMicroBatch;
  return base::terminal_safe_line(key) + ": " + shown(before) + " -> " + shown(after) +
         (measured ? "" : " (the recipe wins)");
}

/// One sentence a changed key, and one a table that came or went.
std::vector<std::string> changes(const Texts& before, const Texts& after) {
  const auto tables_before = tables_of(before), tables_after = tables_of(after);
  std::vector<std::string> lines;
  std::set<std::string> told;
  const auto whole_table = [&](const std::string& key, const std::set<std::string>& others, const char* what) {
    const std::string table = table_of(key);
    if (others.contains(table)) return false;
    if (told.insert(table).second)
      lines.push_back("[" + base::terminal_safe_line(table) + "] was " + what + " (the recipe wins)");
    return true;
  };
  for (const auto& [key, value] : after) {
    const std::string* old = find(before, key);
    if (old && *old == value) continue;
    if (!old && whole_table(key, tables_before, "added")) continue;
    lines.push_back(changed(key, old, &value));
  }
  for (const auto& [key, value] : before)
    if (!find(after, key) && !whole_table(key, tables_after, "removed")) lines.push_back(changed(key, &value, nullptr));
  return lines;
}

}  // namespace

Texts Trainer::Impl::choices() const {
  Texts all;
  for (const auto& choice : parts.choices)
    if (choice.first != kThreads) all.push_back(choice);
  const auto micro_batch = plan.micro_batch_size.value;
  all.emplace_back(kThreads, std::to_string(at::get_num_threads()));
  all.emplace_back(kMicroBatch, std::to_string(micro_batch ? micro_batch : parts.settings.batch_size));
  return all;
}

void Trainer::Impl::tell_changes(const Texts& saved) {
  if (saved.empty()) return;  // it does not say; nothing can be compared
  const Texts now = choices();
  for (const std::string& line : changes(saved, now)) observer.note("resume: " + line);
  const auto differs = [&](const char* key) {
    const std::string* before = find(saved, key);
    return before && *before != *find(now, key);
  };
  if (differs(kThreads) || differs(kMicroBatch))
    observer.note("resume: the bits may differ from those of a run that was not interrupted");
}

}  // namespace holdfast::engine
