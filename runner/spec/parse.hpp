// TOML text to a value tree with places. The only part that knows toml++; internal to spec.
#pragma once

#include <optional>
#include <string_view>

#include "spec/source.hpp"
#include "spec/value.hpp"

namespace holdfast::spec {

/// The whole recipe as one table. Throws Faults (78) with the one syntax fault that ends the reading; duplicate keys
/// and tables, and nesting beyond 32 levels, are such faults.
Value parse_document(const Source& source);

/// One TOML value, as in an override; nothing when the text is none.
std::optional<Value> parse_value(std::string_view text);

}  // namespace holdfast::spec
