// Events are appended right after each save; best and final weights are written after one.
#include "app/worker/saved_mark.hpp"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/folder.hpp"

namespace holdfast::app {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 16;

/// The update of a line that tells of a checkpoint in its place.
std::optional<std::int64_t> saved_update(const std::string& line) {
  if (line.find("\"checkpoint\"") == std::string::npos) return std::nullopt;
  const auto event = nlohmann::json::parse(line, nullptr, false);
  if (!event.is_object() || event.value("event", nlohmann::json()) != "checkpoint" ||
      event.value("ok", nlohmann::json()) != true)
    return std::nullopt;
  const auto update = event.find("update");
  if (update == event.end() || !update->is_number_integer()) return std::nullopt;
  return update->get<std::int64_t>();
}

std::optional<std::int64_t> last_saved_update(const std::string& events) {
  const base::File file = base::open_regular(events, O_RDONLY);
  std::optional<std::int64_t> last;
  std::string line;
  std::array<char, 1 << 16> block{};
  for (ssize_t size = 0; file.fd() >= 0 && (size = ::read(file.fd(), block.data(), block.size())) > 0;)
    for (ssize_t i = 0; i < size; ++i) {
      const char c = block[static_cast<std::size_t>(i)];
      if (c != '\n') {
        if (line.size() < kLongestLine) line += c;  // longer ones are none of ours and do not parse
        continue;
      }
      if (const auto update = saved_update(line)) last = update;
      line.clear();
    }
  return last;
}

}  // namespace

std::optional<std::string> saved_mark(const std::string& generation) {
  if (const auto update = last_saved_update(generation + "/events.jsonl"))
    return "events.jsonl tells of a checkpoint of update " + std::to_string(*update);
  for (const char* name : {"best.safetensors", "model.safetensors"})
    if (::access((generation + "/" + name).c_str(), F_OK) == 0) return std::string(name) + " is there";
  return std::nullopt;
}

}  // namespace holdfast::app
