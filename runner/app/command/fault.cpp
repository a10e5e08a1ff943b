// The JSON form is that of the log, so that one reader takes both.
#include "app/command/fault.hpp"

#include <cstdio>

#include "base/log.hpp"
#include "base/text.hpp"

namespace holdfast::app {

int print_fault(const Error& error, bool json) {
  const std::string text = base::terminal_safe(error.what());
  if (json) {
    base::LogOptions options;
    options.json = true;
    base::RunLog(options).error(text);
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  return static_cast<int>(error.code());
}

}  // namespace holdfast::app
