// The last words of a process that has no log of a run: one fault on stderr.
#pragma once

#include "holdfast/error.hpp"

namespace holdfast::app {

/// Prints the error on stderr, as it reads or as a line of the JSON log. Returns its exit code.
int print_fault(const Error& error, bool json);

}  // namespace holdfast::app
