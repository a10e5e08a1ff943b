// Small text jobs of error messages: the nearest known name, texts made short and printable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::spec {

/// Fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment); letter case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, within a third of its length (at least one edit), or else the
/// first that begins with it; empty when there is none.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// At most about 80 bytes, cut between characters, with an ellipsis.
std::string shorten(std::string_view text);

/// Control characters and bytes that are no UTF-8 written as \xNN, so that a terminal shows and does not obey them.
std::string printable(std::string_view text);

/// Length in bytes of the well-formed UTF-8 character at the beginning of `text`; 0 when it is none.
std::size_t utf8_length(std::string_view text);

}  // namespace holdfast::spec
