// A command that is run again and again: its success is the notice.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "source.hpp"

namespace holdfast::plugins {

/// `argv` is run without a shell, found on PATH, in a process group of its own, with nothing to read and its output
/// thrown away. What takes longer than `timeout` is killed with its group. No process is left behind, none unwaited.
class CommandSource : public NoticeSource {
 public:
  CommandSource(std::vector<std::string> argv, std::chrono::nanoseconds timeout)
      : argv_(std::move(argv)), timeout_(timeout) {}
  [[nodiscard]] const char* name() const override { return "command"; }
  Look look(Ending& ending) override;

 private:
  std::vector<std::string> argv_;
  std::chrono::nanoseconds timeout_;
};

}  // namespace holdfast::plugins
