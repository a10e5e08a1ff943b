// Reads the texts of glibc's loader (elf/dl-load.c, elf/dl-lookup.c).
#include "host/load_failure.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace holdfast::host {

namespace {
std::string readable_symbol(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? symbol + " (" + plain.get() + ")" : symbol;
}

/// "libfoo.so.3" out of "libfoo.so.3: cannot open shared object file: No such file or directory".
std::string absent_library(const std::string& file, std::string_view text) {
  const std::size_t end = text.find(": cannot open shared object file");
  if (end == std::string_view::npos || text.substr(0, end) == file) return {};
  return std::string(text.substr(0, end));
}

std::string undefined_symbol(std::string_view text) {
  constexpr std::string_view kMark = "undefined symbol: ";
  const std::size_t at = text.find(kMark);
  if (at == std::string_view::npos) return {};
  std::string_view symbol = text.substr(at + kMark.size());
  return std::string(symbol.substr(0, symbol.find_first_of(", \t")));
}
}  // namespace

Error load_failure(const std::string& file, const std::string& text) {
  const std::string said = "; the loader said: " + (text.empty() ? "nothing" : text);
  if (const std::string library = absent_library(file, text); !library.empty())
    return {ExitCode::kPlugin, "plugin.missing_dependency", file,
            "the plugin is there, but it needs " + library + ", which is not found" + said,
            "install " + library + ", or add its folder to LD_LIBRARY_PATH or to the plugin's RUNPATH"};
  if (const std::string symbol = undefined_symbol(text); !symbol.empty())
    return {ExitCode::kPlugin, "plugin.undefined_symbol", file,
            "the plugin needs the symbol " + readable_symbol(symbol) + ", which no library defines" + said,
            "link the plugin with the library that defines it"};
  return {ExitCode::kPlugin, "plugin.load_failed", file, "the plugin cannot be loaded" + said};
}

}  // namespace holdfast::host
