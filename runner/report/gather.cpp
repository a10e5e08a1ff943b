// Every file on its own: none is needed, none is trusted.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/folder.hpp"
#include "report/lines.hpp"
#include "report/material.hpp"

namespace holdfast::report {
namespace {

constexpr std::size_t kLongestEvent = std::size_t{64} << 10;
constexpr std::size_t kMostStatus = std::size_t{1} << 20;
constexpr std::size_t kMostFigures = std::size_t{4} << 20;
constexpr std::size_t kMostRecipe = std::size_t{32} << 10;

/// At most `limit` bytes of a regular file; `cut` where there were more. Empty when it cannot be read.
std::string beginning_of(const std::string& path, std::size_t limit, bool& cut) {
  const base::File file = base::open_regular(path, O_RDONLY);
  std::string text;
  if (file.fd() < 0) return text;
  text.resize(limit + 1);
  std::size_t size = 0;
  for (ssize_t got = 0; size < text.size(); size += static_cast<std::size_t>(got))
    if ((got = read(file.fd(), text.data() + size, text.size() - size)) <= 0) break;
  cut = size > limit;
  text.resize(std::min(size, limit));
  return text;
}

void read_events(const std::string& path, Material& into) {
  const LinesRead told = read_lines(path, kLongestEvent, [&](std::string_view line) {
    const auto event = read_record(line);
    if (event && !event->text("event").empty())
      into.history.take(*event);
    else
      ++into.unreadable;
  });
  into.events_found = told.opened;
  into.events_torn = told.torn;
  into.unreadable += told.too_long;
}

}  // namespace

Material gather(const std::string& generation_folder, const Maker& maker) {
  Material material;
  const std::filesystem::path folder(generation_folder);
  material.generation = folder.filename().string();
  material.home = folder.parent_path().filename().string();
  material.maker = maker;
  bool cut = false;
  const std::string status = beginning_of(generation_folder + "/status.json", kMostStatus, cut);
  if (!cut) material.status = read_record(status);
  material.figures = read_exposition(beginning_of(generation_folder + "/metrics.prom", kMostFigures, cut));
  material.recipe = beginning_of(generation_folder + "/recipe.toml", kMostRecipe, material.recipe_cut);
  read_events(generation_folder + "/events.jsonl", material);
  return material;
}

}  // namespace holdfast::report
