// Who may give notice: one look at a time.
#pragma once

#include <optional>
#include <string>

#include "ending.hpp"

namespace holdfast::plugins {

/// What one look came to.
struct Look {
  std::optional<std::string> notice;  ///< who gave it and how, a clause
  std::string fault;                  ///< why nobody could be asked, a sentence; empty: nothing went wrong
};

class NoticeSource {
 public:
  virtual ~NoticeSource() = default;
  [[nodiscard]] virtual const char* name() const = 0;  ///< "file", "command", "url"
  /// Blocks the polling thread, but returns within some 50 ms once `ending` has come.
  virtual Look look(Ending& ending) = 0;
};

}  // namespace holdfast::plugins
