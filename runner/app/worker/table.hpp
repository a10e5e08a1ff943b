// Rows of words as columns as wide as their widest word. Pure.
#pragma once

#include <string>
#include <vector>

namespace holdfast::app {

class Table {
 public:
  /// A head that begins with ">" makes a column of figures, flush right.
  explicit Table(const std::vector<std::string>& heads);
  /// As many cells as heads.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every row ends in a new line, without blanks before it.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::app
