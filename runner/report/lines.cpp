// One buffer: a line that spans two reads is moved to its front.
#include "report/lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "base/folder.hpp"

namespace holdfast::report {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

}  // namespace

LinesRead read_lines(const std::string& path, std::size_t longest, const std::function<void(std::string_view)>& take) {
  LinesRead told;
  const base::File file = base::open_regular(path, O_RDONLY);
  if (file.fd() < 0) return told;
  told.opened = true;
  std::vector<char> block(kBlock);
  std::string rest;        // the beginning of a line whose end is not read yet
  bool overflown = false;  // of that line, more than `longest` bytes were seen
  for (ssize_t size = 0; (size = read(file.fd(), block.data(), block.size())) > 0;) {
    std::string_view text(block.data(), static_cast<std::size_t>(size));
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const bool fits = !overflown && rest.size() + end <= longest;
      if (!fits) {
        ++told.too_long;
      } else if (rest.empty()) {
        take(text.substr(0, end)), ++told.whole;
      } else {
        take(rest.append(text.substr(0, end))), ++told.whole;
      }
      rest.clear();
      overflown = false;
      text.remove_prefix(end + 1);
    }
    overflown = overflown || rest.size() + text.size() > longest;
    if (overflown)
      rest.clear();
    else
      rest.append(text);
  }
  told.torn = overflown || !rest.empty();
  return told;
}

}  // namespace holdfast::report
