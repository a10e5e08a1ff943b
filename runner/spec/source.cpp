// Opening and decoding a recipe. Never blocks on a pipe, never reads more than the limit.
#include "spec/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"

namespace holdfast::spec {
namespace {

constexpr std::size_t kLargestRecipe = std::size_t{4} << 20;

[[noreturn]] void refuse(const std::string& path, ExitCode code, std::string reason, std::string message,
                         std::string hint = {}, int line = 0, int column = 0) {
  throw Faults(code, {{path, line, column, std::move(reason), std::move(message), {}, std::move(hint)}});
}

/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::string absolute(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

[[noreturn]] void refuse_open(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    refuse(path, ExitCode::kMissingInput, "recipe.missing", "there is no such recipe: tried " + absolute(path),
           "check the path; relative paths start at the current folder");
  refuse(path, ExitCode::kMissingInput, "recipe.unreadable",
         "cannot read " + absolute(path) + ": " + std::strerror(error));
}

std::string read_bytes(const std::string& path) {
  // A path with a NUL would be cut off by the system and name another file.
  if (path.find('\0') != std::string::npos) refuse_open(path, ENOENT);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number < 0) refuse_open(path, errno);
  struct stat status {};
  if (fstat(file.number, &status) != 0) refuse_open(path, errno);
  if (!S_ISREG(status.st_mode))
    refuse(path, ExitCode::kMissingInput, "recipe.not_a_file",
           "a recipe is a regular file: got " + kind_of(status.st_mode) + ", " + absolute(path));
  std::string bytes;
  std::vector<char> block(1 << 16);
  for (;;) {
    const ssize_t got = read(file.number, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_open(path, errno);
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > kLargestRecipe)
      refuse(path, ExitCode::kBadRecipe, "recipe.too_large", "a recipe has at most 4 MiB: got more",
             "is this the right file?");
  }
}

/// "xFC"
std::string hexadecimal(char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return {'x', kDigits[value >> 4], kDigits[value & 15]};
}

void refuse_encoding(const std::string& path, std::string_view text) {
  const std::string save = "save the file as UTF-8";
  const bool sixteen = text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF" ||
                       (text.size() > 3 && ((text[0] == 0) != (text[1] == 0)) && ((text[2] == 0) != (text[3] == 0)));
  if (sixteen)
    refuse(path, ExitCode::kBadRecipe, "recipe.encoding", "a recipe is UTF-8 text: got UTF-16 or UTF-32", save);
  int line = 1, column = 1;
  for (std::size_t at = 0; at < text.size(); ++column) {
    const std::size_t length = base::utf8_length(text.substr(at, 4));
    if (text[at] == '\0')
      refuse(path, ExitCode::kBadRecipe, "recipe.encoding", "a recipe is UTF-8 text: got a NUL byte",
             "is this the right file?", line, column);
    if (length == 0)
      refuse(path, ExitCode::kBadRecipe, "recipe.encoding",
             "a recipe is UTF-8 text: got the byte " + hexadecimal(text[at]), save, line, column);
    if (text[at] == '\n') ++line, column = 0;
    at += length;
  }
}

}  // namespace

std::string_view Source::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > line_starts.size()) return {};
  std::string_view rest = std::string_view(text).substr(line_starts[static_cast<std::size_t>(number) - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

Source read_source(const std::string& path) {
  Source source{path, read_bytes(path), {0}};
  if (source.text.substr(0, 3) == "\xEF\xBB\xBF") source.text.erase(0, 3);
  refuse_encoding(path, source.text);
  if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
    refuse(path, ExitCode::kBadRecipe, "recipe.empty", "the recipe is empty",
           "a recipe needs at least [model], [dataset.train] and [train]");
  for (std::size_t at = 0; at < source.text.size(); ++at)
    if (source.text[at] == '\n') source.line_starts.push_back(at + 1);
  return source;
}

void Report::add(const Place& place, std::string reason, std::string message, std::string hint) {
  if (full()) return;
  Diagnostic fault{source_.path,
                   place.line,
                   place.column,
                   std::move(reason),
                   base::terminal_safe_line(message),
                   {},
                   base::terminal_safe_line(hint)};
  if (!place.override_text.empty()) {
    fault.file = base::terminal_safe_line(place.override_text);
    fault.line = fault.column = 0;
  } else if (place.line > 0) {
    // Kept short here: a line may be megabytes long. render() marks the column only when the line is whole.
    fault.source_line = std::string(source_.line(place.line).substr(0, 400));
  }
  faults_.push_back(std::move(fault));
}

void Report::raise_if_any() {
  if (faults_.empty()) return;
  std::stable_sort(faults_.begin(), faults_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    const auto order = [](const Diagnostic& d) { return d.line > 0 ? d.line : 1 << 30; };
    return std::pair(order(a), a.column) < std::pair(order(b), b.column);
  });
  const bool only_plugins = std::all_of(faults_.begin(), faults_.end(),
                                        [](const Diagnostic& d) { return d.reason.rfind("plugin.", 0) == 0; });
  throw Faults(only_plugins ? ExitCode::kPlugin : ExitCode::kBadRecipe, std::move(faults_));
}

}  // namespace holdfast::spec
