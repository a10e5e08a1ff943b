// Layout of the progress line: facts in order of worth, the least worthy are left out on narrow terminals.
#include "telemetry/progress_line.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "telemetry/quantity.hpp"

namespace holdfast::telemetry {
namespace {

constexpr int kBarColumns = 24;
constexpr int kLeastBarColumns = 8;

double share(const Snapshot& at) {
  return at.total > 0 ? std::clamp(static_cast<double>(at.update) / static_cast<double>(at.total), 0.0, 1.0) : 0.0;
}

std::string position(const Snapshot& at) {
  return std::to_string(at.update) + (at.total > 0 ? "/" + std::to_string(at.total) : "");
}

std::string percent(const Snapshot& at) { return std::to_string(static_cast<int>(share(at) * 100)) + " %"; }

std::string epoch_text(const Snapshot& at) {
  const auto shown = at.epochs > 0 ? std::min(at.epoch + 1, at.epochs) : at.epoch + 1;
  return "epoch " + std::to_string(shown) + (at.epochs > 0 ? "/" + std::to_string(at.epochs) : "");
}

/// Cuts at a character border, so that a UTF-8 name never ends in half a character.
std::string clip(const std::string& text, std::size_t columns) {
  std::size_t end = 0, seen = 0;
  while (end < text.size() && seen < columns) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    ++seen;
  }
  return text.substr(0, end);
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

std::string bar(double part, int columns) {
  const int eighths = static_cast<int>(part * columns * 8);
  static const char* kPartial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text;
  int drawn = 0;
  for (; drawn < eighths / 8; ++drawn) text += "█";
  if (eighths % 8 != 0 && drawn < columns) text += kPartial[eighths % 8], ++drawn;
  return text.append(static_cast<std::size_t>(columns - drawn), ' ');
}

/// Facts after the bar, most useful first.
std::vector<std::string> facts(const Snapshot& at) {
  std::vector<std::string> list = {percent(at), position(at)};
  if (at.loss) list.push_back("loss " + number_text(*at.loss));
  if (const auto left = seconds_left(at)) list.push_back(base::human_duration(*left) + " left");
  if (at.updates_per_second > 0) list.push_back(rate_text(at.updates_per_second) + "/s");
  if (at.epochs > 0) list.push_back(epoch_text(at));
  if (at.memory_bytes > 0) list.push_back(base::human_bytes(at.memory_bytes));
  return list;
}

}  // namespace

std::optional<double> seconds_left(const Snapshot& at) {
  if (at.total <= 0 || at.updates_per_second <= 0 || at.update >= at.total) return std::nullopt;
  return static_cast<double>(at.total - at.update) / at.updates_per_second;
}

std::string progress_bar(const Snapshot& at, int width) {
  const auto room = static_cast<std::size_t>(std::max(width - 1, 1));
  const std::string name = clip(at.run, std::min<std::size_t>(20, room / 4));
  const int columns = room >= 60 ? kBarColumns : kLeastBarColumns;
  std::string line = name + " ▕" + bar(share(at), columns) + "▏";
  if (room < 30) line = name;
  std::string separator = " ";
  for (const auto& fact : facts(at)) {
    if (columns_of(line) + columns_of(separator) + columns_of(fact) > room) break;
    line += separator + fact;
    separator = " · ";
  }
  return clip(line, room);
}

std::string progress_sentence(const Snapshot& at) {
  std::string text = "update " + position(at);
  if (at.total > 0) text += " (" + percent(at) + ")";
  text += ", " + epoch_text(at);
  if (at.loss) text += ", loss " + number_text(*at.loss);
  if (at.updates_per_second > 0) text += ", " + rate_text(at.updates_per_second) + " updates/s";
  if (const auto left = seconds_left(at)) text += ", " + base::human_duration(*left) + " left";
  if (at.memory_bytes > 0) text += ", " + base::human_bytes(at.memory_bytes);
  return text;
}

}  // namespace holdfast::telemetry
