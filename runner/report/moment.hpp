// Times as the run's files have them. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::report {

/// Unix seconds of "2026-11-30T10:15:00Z" (RFC 3339, UTC only; a fraction is ignored); none for anything else.
std::optional<std::int64_t> unix_seconds(std::string_view rfc3339);

/// "2026-11-30 10:15:00" of such a time; the text itself where it is none.
std::string clock_text(std::string_view rfc3339);

}  // namespace holdfast::report
