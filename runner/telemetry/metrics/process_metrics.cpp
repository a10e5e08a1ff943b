// One read of /proc/self/stat, one listing of /proc/self/fd, one getrlimit(2).
#include "telemetry/metrics/process_metrics.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "base/folder.hpp"

namespace holdfast::telemetry {
namespace {

std::string beginning_of(const char* path) {
  const base::File file(open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> text{};
  const ssize_t size = file.fd() < 0 ? 0 : read(file.fd(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  return read.ec == std::errc{} ? std::optional<double>(value) : std::nullopt;
}

/// "btime N" of /proc/stat; 0 where it cannot be read.
double boot_seconds() {
  static const double at = [] {
    const std::string text = beginning_of("/proc/stat");
    const auto key = text.find("\nbtime ");
    return key == std::string::npos ? 0.0 : number(std::string_view(text).substr(key + 7)).value_or(0);
  }();
  return at;
}

}  // namespace

ProcessReading parse_process_stat(std::string_view stat, double ticks, double page, double boot) {
  ProcessReading reading;
  const auto name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos) return reading;
  std::vector<std::string_view> words;  // the third field on
  for (std::size_t at = name_end + 1; at < stat.size();) {
    const auto begin = stat.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos) break;
    const auto end = std::min(stat.find_first_of(" \n", begin), stat.size());
    words.push_back(stat.substr(begin, end - begin));
    at = end;
  }
  const auto field = [&](std::size_t place) {  // as proc(5) numbers them
    return place - 3 < words.size() ? number(words[place - 3]) : std::nullopt;
  };
  const auto user = field(14), kernel = field(15), start = field(22), size = field(23), resident = field(24);
  if (user && kernel) reading.cpu_seconds = (*user + *kernel) / ticks;
  reading.threads = field(20);
  if (start && boot > 0) reading.start_seconds = boot + *start / ticks;
  reading.virtual_bytes = size;
  if (resident) reading.resident_bytes = *resident * page;
  return reading;
}

ProcessReading read_process() {
  ProcessReading reading =
      parse_process_stat(beginning_of("/proc/self/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)),
                         static_cast<double>(sysconf(_SC_PAGESIZE)), boot_seconds());
  std::error_code failure;
  double open = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failure), end; !failure && entry != end;
       entry.increment(failure))
    ++open;
  if (open > 0) reading.open_fds = open - 1;  // the listing has one of its own
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) reading.max_fds = static_cast<double>(limit.rlim_cur);
  return reading;
}

void ProcessMetrics::sample() {
  const ProcessReading now = read_process();
  if (now.cpu_seconds && *now.cpu_seconds >= cpu_seconds_) {
    families_.counter("process_cpu_seconds_total").Increment(*now.cpu_seconds - cpu_seconds_);
    cpu_seconds_ = *now.cpu_seconds;
  }
  const std::array<std::pair<const char*, std::optional<double>>, 6> gauges = {
      {{"process_start_time_seconds", now.start_seconds},
       {"process_virtual_memory_bytes", now.virtual_bytes},
       {"process_resident_memory_bytes", now.resident_bytes},
       {"process_open_fds", now.open_fds},
       {"process_max_fds", now.max_fds},
       {"process_threads", now.threads}}};
  for (const auto& [name, value] : gauges)
    if (value) families_.gauge(name).Set(*value);
}

}  // namespace holdfast::telemetry
