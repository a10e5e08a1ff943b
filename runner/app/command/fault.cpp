// The JSON form is that of the log, so that one reader takes both.
#include "app/command/fault.hpp"

#include <cstdio>

#include "app/command/command_line.hpp"
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

bool wants_json_log(const std::vector<std::string>& arguments) {
  bool json = false;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == "--log-format") json = i + 1 < arguments.size() && arguments[i + 1] == "json";
    if (arguments[i].starts_with("--log-format=")) json = arguments[i] == "--log-format=json";
  }
  return json;
}

}  // namespace holdfast::app
