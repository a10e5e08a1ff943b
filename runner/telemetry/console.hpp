// The one line of a terminal that is drawn over and over, and the ordinary lines above it. Knows no run.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::telemetry {

/// How much is shown while training. kBar needs a terminal that can return the carriage.
enum class ConsoleMode { kBar, kLines, kSilent };

/// kSilent when quiet; kBar on a terminal whose TERM is not "dumb"; kLines elsewhere and for JSON logs.
ConsoleMode console_mode(int file, bool quiet, bool json, std::string_view term);

/// Thread-safe: the log erases the line from whatever thread it speaks. Never throws: a closed terminal must not end
/// training.
class Console {
 public:
  explicit Console(int file) : file_(file) {}
  ~Console() { erase(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Replaces the drawn line. `line` fits the width.
  void draw(const std::string& line) noexcept;
  /// Removes the drawn line, so that something else can be written.
  void erase() noexcept;
  /// Columns of the terminal now; 80 where it does not say.
  [[nodiscard]] int width() const noexcept;

 private:
  void put(std::string_view text) const noexcept;
  int file_;
  std::mutex mutex_;
  bool drawn_ = false;
};

}  // namespace holdfast::telemetry
