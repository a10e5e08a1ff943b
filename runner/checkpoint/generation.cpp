// Reading generations, and finding the home a path belongs to.
#include "checkpoint/generation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "base/io_error.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "checkpoint/json.hpp"
#include "checkpoint/place.hpp"
#include "checkpoint/shelf.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr std::size_t kStampSize = 16;  // 20261130T101500Z
constexpr std::size_t kLargestStatus = std::size_t{1} << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What a path is, by its place: names only, nothing is opened.
struct Place {
  std::filesystem::path home, generation;  // generation is empty for a home
};

std::optional<Place> place_of(const std::filesystem::path& real) {
  if (is_generation_name(real.filename().string())) return Place{real.parent_path(), real};
  const auto parent = real.parent_path();
  if (update_in_name(real.filename().string()) && parent.filename() == "checkpoints" &&
      is_generation_name(parent.parent_path().filename().string()))
    return Place{parent.parent_path().parent_path(), parent.parent_path()};
  std::error_code failure;
  if (!std::filesystem::is_directory(real, failure)) return std::nullopt;
  const base::Folder folder = base::Folder::open(real.string());
  if (current_generation(folder) || folder.kind_of("lock") == base::EntryKind::kFile) return Place{real, {}};
  return std::nullopt;
}

}  // namespace

bool is_generation_name(std::string_view name) {
  constexpr std::string_view kForm = "00000000T000000Z-xxxx";
  if (name.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool hex = is_digit(name[i]) || (name[i] >= 'a' && name[i] <= 'f');
    if (kForm[i] == '0' ? !is_digit(name[i]) : kForm[i] == 'x' ? !hex : name[i] != kForm[i]) return false;
  }
  return true;
}

std::vector<std::string> generation_names(const base::Folder& home) {
  std::vector<std::string> names;
  for (const base::Entry& entry : home.entries())
    if (entry.kind == base::EntryKind::kFolder && is_generation_name(entry.name)) names.push_back(entry.name);
  return names;
}

Generation read_generation(const base::Folder& home, const std::string& name) {
  Generation generation{home.path_of(name), name, GenerationState::kUnfinished, 0};
  try {
    const base::Folder folder = home.open_below(name);
    if (!folder.kind_of("status.json")) return generation;
    const auto status = foreign_json(folder.read("status.json", kLargestStatus), folder.path_of("status.json"));
    if (status.contains("state") && status["state"] == "finished") generation.state = GenerationState::kFinished;
    if (status.contains("attempt") && status["attempt"].is_number_integer() && status["attempt"] > 0 &&
        status["attempt"] < INT32_MAX)
      generation.attempts = status["attempt"].get<int>();
  } catch (const Error&) {
    return generation;  // unreadable is unfinished: it is looked at again, never skipped
  }
  return generation;
}

std::optional<std::string> current_generation(const base::Folder& home) {
  const std::vector<std::string> names = generation_names(home);
  std::string target = read_pointer(home, kCurrent).value_or("");
  if (std::find(names.begin(), names.end(), target) != names.end()) return target;
  if (names.empty()) return std::nullopt;
  return names.back();
}

std::string next_generation_name(base::WallTime now, const std::vector<std::string>& taken) {
  const auto used = [&](const std::string& stamp) {
    return std::any_of(taken.begin(), taken.end(),
                       [&](const std::string& name) { return name.compare(0, kStampSize, stamp) == 0; });
  };
  // A second of its own, so that the order of names is the order of creation.
  while (used(base::compact_utc(now))) now += std::chrono::seconds(1);
  return base::compact_utc(now) + "-" + base::random_hex(4);
}

Generation RunHome::look(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  if (failure == std::errc::no_such_file_or_directory) return {};
  if (failure) throw base::io_error(base::Doing::kRead, path, failure.value());
  const auto place = place_of(real);
  if (!place) return {};
  const base::Folder home = base::Folder::open(place->home.string());
  if (!place->generation.empty()) return read_generation(home, place->generation.filename().string());
  const auto current = current_generation(home);
  return current ? read_generation(home, *current) : Generation{};
}

void RunHome::require_own_place(const std::string& path) {
  std::error_code failure;
  auto real = std::filesystem::weakly_canonical(base::absolute_path(path), failure);
  if (failure) return;  // what is wrong with the path is told when it is opened
  for (; real.has_relative_path(); real = real.parent_path()) {
    const auto home = real.parent_path();
    if (!is_generation_name(real.filename().string()) || !std::filesystem::exists(home / "lock", failure)) continue;
    throw Error(ExitCode::kCannotCreate, "home.nested", base::terminal_safe_line(base::absolute_path(path)),
                "lies inside the run home " + base::terminal_safe_line(home.string()) + ", in its generation " +
                    real.filename().string(),
                "name a folder of its own for the run (--output DIR, run.output of the recipe)");
  }
}

std::string RunHome::home_of(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  if (failure) throw base::io_error(base::Doing::kRead, path, failure.value());
  if (const auto place = place_of(real)) return place->home.string();
  throw Error(ExitCode::kMissingInput, "home.none", base::terminal_safe_line(base::absolute_path(path)),
              "this is no run home, generation or checkpoint: it has neither a 'current' link nor a generation",
              "name the folder that `holdfast run` wrote (run.output of the recipe)");
}

}  // namespace holdfast::checkpoint
