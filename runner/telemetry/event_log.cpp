// Plain descriptors: a short write is taken back by truncation, so that the file stays strict JSON lines.
#include "telemetry/event_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/text.hpp"

namespace holdfast::telemetry {
namespace {

std::string json_value(const EventValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return base::json_string(*text);
  if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real)) {
    std::array<char, 40> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *real);
    return {digits.data(), end.ptr};
  }
  return "null";
}

std::string system_text(int code) { return std::generic_category().message(code); }

/// Cuts what follows the last new line: a writer killed in mid-line left it.
void cut_half_line(int file) {
  struct stat info {};
  if (fstat(file, &info) != 0) return;
  off_t end = info.st_size;
  std::array<char, 4096> block{};
  while (end > 0) {
    const auto size = static_cast<std::size_t>(std::min<off_t>(end, block.size()));
    const off_t start = end - static_cast<off_t>(size);
    if (pread(file, block.data(), size, start) != static_cast<ssize_t>(size)) return;
    std::size_t keep = size;
    while (keep > 0 && block[keep - 1] != '\n') --keep;
    end = start + static_cast<off_t>(keep);
    if (keep > 0) break;
  }
  if (end != info.st_size) (void)!ftruncate(file, end);
}

}  // namespace

std::string event_line(std::string_view time, std::string_view event, int attempt, const EventFields& fields) {
  std::string line = "{\"time\":" + base::json_string(time) + ",\"event\":" + base::json_string(event) +
                     ",\"attempt\":" + std::to_string(attempt);
  for (const auto& [name, value] : fields) line += "," + base::json_string(name) + ":" + json_value(value);
  return line + "}";
}

EventLog::EventLog(const std::string& path, int attempt) : attempt_(attempt) {
  file_ = base::open_regular(path, O_RDWR | O_APPEND | O_CREAT);
  if (file_.fd() < 0)
    failure_ = errno == EINVAL ? "not a regular file" : system_text(errno);
  else
    cut_half_line(file_.fd());
}

bool EventLog::write_line(const std::string& line) {
  if (file_.fd() < 0) return false;
  struct stat before {};
  if (fstat(file_.fd(), &before) != 0) return failure_ = system_text(errno), false;
  const ssize_t written = write(file_.fd(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return true;
  failure_ = system_text(written < 0 ? errno : ENOSPC);
  if (written > 0) (void)!ftruncate(file_.fd(), before.st_size);
  return false;
}

bool EventLog::append(std::string_view time, std::string_view event, const EventFields& fields) noexcept {
  try {
    if (lost_pending_ > 0 &&
        write_line(event_line(time, "lost", attempt_, {{"lines", EventValue(lost_pending_)}}) + "\n"))
      lost_pending_ = 0;
    if (lost_pending_ == 0 && write_line(event_line(time, event, attempt_, fields) + "\n")) return true;
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  ++lost_pending_;
  ++lost_total_;
  return false;
}

}  // namespace holdfast::telemetry
