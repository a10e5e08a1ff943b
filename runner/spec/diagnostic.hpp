// Faults of a recipe with their place, told together. Torch-free.
#pragma once

#include <string>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::spec {

struct Diagnostic {
  std::string file;          ///< as the user wrote it; "--set" for an override
  int line = 0, column = 0;  ///< 1-based; 0: no place
  std::string reason;        ///< "recipe.unknown_key"
  std::string message;       ///< what is wrong: got 'x'; did you mean 'y'?
  std::string source_line;   ///< shown with a caret; empty for overrides
  std::string hint;
};

/// `file:line:column: error[reason]: message`, the source line, a caret, `hint:`.
std::string render(const Diagnostic&);

/// All faults of one recipe. what() renders them one after the other; reason(), where(), message() and hint() are those
/// of the first.
class HOLDFAST_VISIBLE Faults : public Error {
 public:
  Faults(ExitCode code, std::vector<Diagnostic> faults);
  [[nodiscard]] const std::vector<Diagnostic>& faults() const noexcept { return faults_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Diagnostic> faults_;
  std::string text_;
};

}  // namespace holdfast::spec
