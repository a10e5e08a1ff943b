// A text file line by line in bounded memory, whatever its size. Knows no format. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast::report {

struct LinesRead {
  bool opened = false;        ///< false: absent, unreadable, or no regular file
  bool torn = false;          ///< what follows the last new line was left out: its writer was killed, or still writes
  std::int64_t whole = 0;     ///< lines handed on
  std::int64_t too_long = 0;  ///< lines left out
};

/// Hands every line that ends in a new line to `take`, without it. Lines longer than `longest` bytes are left out.
LinesRead read_lines(const std::string& path, std::size_t longest, const std::function<void(std::string_view)>& take);

}  // namespace holdfast::report
