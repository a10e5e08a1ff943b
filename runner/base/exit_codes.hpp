// The one table of exit codes: --help, the docs and the exit-code metric all read it.
#pragma once

#include <span>
#include <string_view>

#include "holdfast/exit_code.hpp"

namespace holdfast::base {

struct ExitCodeRow {
  ExitCode code;
  std::string_view name;        ///< stable slug: "ok", "bad_recipe"
  std::string_view meaning;     ///< one clause for people
  std::string_view scheduler;   ///< what a scheduler should do
  std::string_view supervisor;  ///< what `--supervise` does
};

/// All rows, in ascending order of code.
std::span<const ExitCodeRow> exit_codes();
/// The row of a code; the row of kBug for a number that is none of ours.
const ExitCodeRow& exit_code_row(ExitCode code);

}  // namespace holdfast::base
