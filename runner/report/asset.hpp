// The style sheet and the script of the page, from style.css and page.js at build time. Private to this folder.
#pragma once

#include <string_view>

namespace holdfast::report {

extern const char* const kStyle;
extern const char* const kScript;
extern const std::string_view kScriptSha256;  ///< hexadecimal

}  // namespace holdfast::report
