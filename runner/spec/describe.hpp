// An option table for people: `holdfast plugins NAME`, the option reference, hints.
#pragma once

#include <string>

#include "holdfast/options.hpp"

namespace holdfast::spec {

/// One option a paragraph, plain text for a terminal, options of nested tables as "outer.inner":
///   hidden  list of integers, each between 1 and 65536; default [128]
///       Width of each hidden layer.
/// "(no options)\n" for an empty table.
std::string describe(const OptionTable& table);

/// The same as a Markdown table: option, type, default, allowed, meaning.
std::string describe_markdown(const OptionTable& table);

/// "integer", "list of paths", "duration", ...; the name of the type for people.
std::string type_name(const OptionSpec& spec);

/// What is allowed beyond the type: bounds, choices, fewest items; empty when nothing is said.
std::string allowed_text(const OptionSpec& spec);

/// "default [128]", "required" or "not set" as its bare text: `[128]`, `required`, `not set`.
std::string fallback_text(const OptionSpec& spec);

}  // namespace holdfast::spec
