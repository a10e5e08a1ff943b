// The run's log: lines for people or JSON lines on stderr, and the human log in a file. Never throws, never stops a
// run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "holdfast/component.hpp"

namespace holdfast::base {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = false;   ///< stderr as JSON lines; the file is always the human log
  bool quiet = false;  ///< stderr shows warnings and errors only; the file is not affected
  bool color = false;  ///< colour the level word on stderr; the caller knows whether it is a terminal
  int descriptor = 2;  ///< where "stderr" goes; not owned
};

/// Thread-safe. Each call writes one whole line with one write(2), so lines of several processes do not mix. Control
/// characters are escaped; a new line inside a message continues on an indented line. A descriptor or file that cannot
/// be written (full disk, closed pipe) is told once on the other one and then ignored. Of warnings that differ in
/// numbers only, 10 pass in a minute, of infos 100; how many were left out is told in the next minute, and by the
/// destructor. Debug lines and errors all pass.
class RunLog final : public Log {
 public:
  explicit RunLog(const LogOptions& options = {}, Clock& clock = Clock::real());
  ~RunLog() override;

  static constexpr std::int64_t kLargestFile = std::int64_t{16} << 20;
  /// Appends to `path` (created 0644, links refused) from now on; before it would grow beyond `largest` bytes it is
  /// renamed to PATH.1, replacing an older one. False, with one warning, when it cannot be opened.
  bool open_file(const std::string& path, std::int64_t largest = kLargestFile);
  void set_level(LogLevel level);
  /// Messages so far by level (debug, info, warn, error), those left out included. Any thread.
  [[nodiscard]] std::array<std::int64_t, 4> counts() const;
  /// Called before each line on stderr, under the log's lock: the progress bar clears its line here. Must not log.
  void before_line(std::function<void()> clear);

  void debug(std::string_view text);
  void info(std::string_view text) override;
  void warn(std::string_view text) override;
  void error(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::base
