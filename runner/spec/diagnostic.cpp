// Showing faults: place, sentence, source line, caret, hint.
#include "spec/diagnostic.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace holdfast::spec {
namespace {

constexpr std::size_t kMostShown = 30;
constexpr std::size_t kWidest = 160;

std::string place_text(const Diagnostic& fault) {
  std::string text = base::terminal_safe_line(fault.file);
  if (fault.line > 0) text += ":" + std::to_string(fault.line);
  if (fault.line > 0 && fault.column > 0) text += ":" + std::to_string(fault.column);
  return text;
}

/// The source line and a caret under its column. Columns count characters; a tab stays a tab, so that the caret lines
/// up whatever the tab width.
std::string excerpt(const Diagnostic& fault) {
  std::string shown, pad;
  std::string_view rest = fault.source_line;
  int column = 1;
  for (; !rest.empty() && shown.size() < kWidest; ++column) {
    const std::size_t length = std::max<std::size_t>(1, base::utf8_length(rest));
    const std::string piece = rest[0] == '\t' ? "\t" : base::terminal_safe_line(rest.substr(0, length));
    if (column < fault.column) pad += rest[0] == '\t' ? "\t" : std::string(length > 1 ? 1 : piece.size(), ' ');
    shown += piece;
    rest.remove_prefix(length);
  }
  std::string text = "\n  " + shown + (rest.empty() ? "" : "...");
  if (fault.column > 0 && fault.column <= column) text += "\n  " + pad + "^";
  return text;
}

std::string render_all(const std::vector<Diagnostic>& faults) {
  std::string text;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostShown); ++i) text += (i ? "\n" : "") + render(faults[i]);
  if (faults.size() > kMostShown) text += "\nand " + std::to_string(faults.size() - kMostShown) + " more faults";
  return text;
}

}  // namespace

std::string render(const Diagnostic& fault) {
  std::string text = place_text(fault) + ": error[" + fault.reason + "]: " + fault.message;
  if (!fault.source_line.empty()) text += excerpt(fault);
  if (!fault.hint.empty()) text += "\n  hint: " + fault.hint;
  return text;
}

Faults::Faults(ExitCode code, std::vector<Diagnostic> faults)
    : Error(code, faults.at(0).reason, place_text(faults[0]), faults[0].message, faults[0].hint),
      faults_(std::move(faults)),
      text_(render_all(faults_)) {}

}  // namespace holdfast::spec
