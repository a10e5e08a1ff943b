// Text on its way into the page. Everything that comes from a file passes through here. Private to this folder.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::report {

/// For text and attributes in double quotes: & < > " ' are escaped, control characters, bidirectional overrides and
/// broken UTF-8 made visible. At most `limit` bytes of the text, then "...".
std::string html(std::string_view text, std::size_t limit = 120);
/// The same for text of several lines: new lines and tabs stay, nothing is cut.
std::string html_lines(std::string_view text);
/// A JSON string inside a script element: no "<" in it, so nothing can end the element.
std::string script_string(std::string_view text);

}  // namespace holdfast::report
