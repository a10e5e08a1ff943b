// Text for people and for machines: escaping, nearest names, figures with units. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::base {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`: optimal string alignment distance. The
/// case of ASCII letters does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate that a typing person most likely meant: the nearest within a third of the letters (at least one edit),
/// or else the first that begins with `given` ("batch" for "batch_size"); none when all are too far.
std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);

std::string human_bytes(std::int64_t bytes);  ///< "512 B", "1.5 KiB", "23.4 GiB"; binary units
std::string human_duration(double seconds);   ///< "0.25 s", "12.3 s", "4 min 05 s", "2 h 03 min", "3 d 04 h"
std::string human_count(std::int64_t count);  ///< "1,234,567"

/// Valid UTF-8: every byte that belongs to no well-formed sequence becomes U+FFFD.
std::string valid_utf8(std::string_view text);
/// A JSON string with its quotes; any bytes in, valid JSON out. `<` and `/` stay: HTML has its own escaping.
std::string json_string(std::string_view text);
/// For terminals: control characters (C0, DEL, C1), bidirectional overrides and broken UTF-8 become \x1b, \u202e, \xff.
/// New lines and tabs stay.
std::string terminal_safe(std::string_view text);
/// The same in one line: new lines and tabs are escaped too. For names inside a sentence or a table.
std::string terminal_safe_line(std::string_view text);
/// terminal_safe_line of at most `limit` bytes of `text`: a longer one is cut between characters and ends in "...".
std::string shortened(std::string_view text, std::size_t limit = 80);
/// Length in bytes of the well-formed UTF-8 character at the beginning of `text`; 0 when it is none.
std::size_t utf8_length(std::string_view text);

}  // namespace holdfast::base
