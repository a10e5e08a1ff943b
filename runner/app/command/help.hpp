// The list of commands and the words around them. The only place that names a command.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/command/command_line.hpp"

namespace holdfast::app {

struct CommandRow {
  Command command;
  std::string_view name;
  std::string_view summary;  ///< one sentence
  std::string_view footer;   ///< examples, at the end of the command's --help
  bool in_worker;            ///< needs LibTorch or plugins
};

std::span<const CommandRow> command_rows();

/// Text of `holdfast --help`: commands, examples, the table of exit codes.
std::string overview();

}  // namespace holdfast::app
