// A run home is a folder with the link `current` to a generation that holds a status.json.
#include "app/front/run_table.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/folder.hpp"
#include "base/text.hpp"
#include "checkpoint/place.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;
constexpr int kDepth = 6;

bool is_gone(std::int64_t pid) {
  if (pid > std::numeric_limits<pid_t>::max()) return true;
  return pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// The generation that the link `current` of a home names; empty for a link that leads elsewhere.
fs::path current_of(const fs::path& home) {
  std::error_code failure;
  fs::path target;
  try {
    target = checkpoint::read_pointer(base::Folder::open(home.string()), "current").value_or("");
  } catch (const Error&) {  // not readable: a run of which nothing is known
  }
  const bool bare = !target.empty() && target == target.filename() && target != "." && target != "..";
  return bare && fs::is_directory(fs::symlink_status(home / target, failure)) ? home / target : fs::path();
}

void collect(const fs::path& folder, const fs::path& top, int depth, std::vector<RunRow>& rows) {
  std::error_code failure;
  if (fs::is_symlink(folder / "current", failure) ||
      (fs::is_regular_file(folder / "current", failure) && fs::exists(folder / "lock", failure))) {
    const fs::path generation = current_of(folder);
    const std::string home = folder.lexically_relative(top).string();
    if (const auto status = generation.empty() ? std::nullopt : telemetry::read_status(generation.string())) {
      rows.push_back({home, *status, is_interrupted(*status)});
    } else {  // a run is there, and nothing is known of it: that is worth a row
      telemetry::Status unknown;
      unknown.state = "unreadable";
      rows.push_back({home, unknown, false});
    }
    return;
  }
  if (depth == 0) return;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    if (std::error_code ignored; entry->is_directory(ignored) && !entry->is_symlink(ignored))
      collect(entry->path(), top, depth - 1, rows);
}

/// A text of a file that anybody may have written.
std::string shown(const std::string& text) { return base::terminal_safe_line(text.substr(0, 40)); }

std::string state_text(const RunRow& row) {
  if (row.process_gone) return "interrupted";
  std::string text = shown(row.status.state);
  if (row.status.state == "failed" && row.status.exit_code) text += " (" + std::to_string(*row.status.exit_code) + ")";
  return text;
}

std::string scores_text(const telemetry::Status& status) {
  std::string text;
  for (const auto& [name, value] : status.scores) {
    std::array<char, 64> part{};
    std::snprintf(part.data(), part.size(), "%s%s %.4g", text.empty() ? "" : ", ",
                  base::terminal_safe_line(name).substr(0, 40).c_str(), value);
    text += part.data();
  }
  return text;
}

}  // namespace

bool is_interrupted(const telemetry::Status& status) { return status.state == "running" && is_gone(status.pid); }

std::vector<RunRow> find_runs(const std::string& folder) {
  std::error_code failure;
  const fs::path top = fs::canonical(folder, failure);
  if (failure || !fs::is_directory(top, failure))
    throw Error(ExitCode::kMissingInput, "status.folder", folder,
                "not a folder that can be read" + (failure ? ": " + failure.message() : std::string()),
                "name the folder that holds your runs, usually `runs`");
  std::vector<RunRow> rows;
  collect(top, top, kDepth, rows);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.home < b.home; });
  return rows;
}

std::string run_table(const std::vector<RunRow>& rows) {
  std::vector<std::array<std::string, 6>> cells = {{"RUN", "STATE", "UPDATE", "EPOCH", "SCORES", "CHANGED"}};
  for (const auto& row : rows) {
    const auto& at = row.status;
    cells.push_back({base::terminal_safe_line(row.home), state_text(row),
                     std::to_string(at.update) + "/" + std::to_string(at.total_updates), std::to_string(at.epoch),
                     scores_text(at), shown(at.updated_at.substr(0, 19)) + (at.updated_at.empty() ? "" : "Z")});
  }
  std::array<std::size_t, 6> width{};
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string text;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i)
      text += line[i] + (i + 1 < line.size() ? std::string(width[i] - line[i].size() + 2, ' ') : "\n");
  }
  return text;
}

std::string run_json(const std::vector<RunRow>& rows) {
  std::string text = "[";
  for (const auto& row : rows) {
    std::string object = telemetry::to_json(row.status);
    const std::string own = "{\n  \"home\": " + base::json_string(row.home) +
                            ",\n  \"process_gone\": " + (row.process_gone ? "true" : "false") + ",";
    object.replace(0, 1, own);
    object.pop_back();
    text += (text.size() > 1 ? ",\n" : "\n") + object;
  }
  return text + (rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace holdfast::app
