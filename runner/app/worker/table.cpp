// Widths are those of bytes: cells are ASCII.
#include "app/worker/table.hpp"

#include <algorithm>

namespace holdfast::app {

Table::Table(const std::vector<std::string>& heads) {
  rows_.emplace_back();
  for (const auto& head : heads) {
    right_.push_back(head.starts_with('>'));
    rows_.front().push_back(right_.back() ? head.substr(1) : head);
  }
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (right_[i] ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace holdfast::app
