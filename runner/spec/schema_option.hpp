// JSON Schema (draft-07) of one option and of one table of options. Knows no recipe and no plugin.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "holdfast/options.hpp"

namespace holdfast::spec {

using Json = nlohmann::ordered_json;

/// The regular expression for a text that holds a `${NAME}` reference, or the two characters `$${`: what it expands to
/// is not known here.
inline constexpr const char* kReferencePattern = R"(\$\{)";

/// `^(body|text with a reference)$`.
std::string anchored_pattern(const std::string& body);

/// A whole positive number of updates, for keys that take no other interval.
std::string update_count_pattern();

/// The schema of a value of this option, with its description and default.
Json option_schema(const OptionSpec& spec);

/// A table with the keys of all `tables` and no other.
Json table_schema(const std::vector<const OptionTable*>& tables);

}  // namespace holdfast::spec
