// A recipe file as text: read with bounds, known to be UTF-8, split into lines. Internal to spec; knows no TOML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostic.hpp"
#include "spec/value.hpp"

namespace holdfast::spec {

struct Source {
  std::string path;  ///< as the user wrote it
  std::string text;  ///< UTF-8 without byte order mark
  std::vector<std::size_t> line_starts;
  [[nodiscard]] std::string_view line(int number) const;  ///< from 1, without its end; empty past the last
};

/// Reads a regular file of at most 4 MiB. Throws Faults with one sentence: 66 when it is missing, unreadable or no
/// file, 78 when it is empty, too large, or not UTF-8 text.
Source read_source(const std::string& path);

/// Collects the faults of one recipe; keeps the order of the file, overrides last.
class Report {
 public:
  explicit Report(const Source& source) : source_(source) {}
  void add(const Place& place, std::string reason, std::string message, std::string hint = {});
  [[nodiscard]] bool empty() const { return faults_.empty(); }
  /// So many faults that looking further helps nobody: a hostile file may hold a million unknown keys.
  [[nodiscard]] bool full() const { return faults_.size() >= 1000; }
  /// Throws Faults when there are any: 80 when all are about plugins, 78 otherwise.
  void raise_if_any();

 private:
  const Source& source_;
  std::vector<Diagnostic> faults_;
};

}  // namespace holdfast::spec
