// What a command prints as its result, written and checked in one place. Knows no command.
#pragma once

#include <optional>
#include <string_view>

#include "holdfast/error.hpp"

namespace holdfast::base {

/// Gives each of the descriptors 0, 1 and 2 that the caller closed to /dev/null, so that no file of a run can take its
/// number and receive what is meant for people. Opened the wrong way round on purpose: writing to it still fails. Call
/// first in main.
void fill_standard_descriptors();

/// A result on its way to stdout. Used by one thread. Written by write(2), so nothing waits in a buffer for the end of
/// the process.
///
/// The rule of all commands: a reader that has gone (EPIPE, as with `| head -1`) is no failure and the rest is dropped;
/// any other failure makes the command end with 74, unless it ends with a code of its own already. `run` keeps its code:
/// the run folder holds what it made.
class Output {
 public:
  explicit Output(int descriptor = 1) : descriptor_(descriptor) {}
  /// Writes all of it; after a failure, nothing more.
  void put(std::string_view text) noexcept;
  /// Error 74 when something that was put could not be written.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  int descriptor_;
  int reason_ = 0;
};

}  // namespace holdfast::base
