// The rules of rules.cpp that JSON Schema can say, added to the schema of a recipe.
#pragma once

#include "spec/schema_option.hpp"

namespace holdfast::spec {

/// Adds formats and rules between the keys of one table to the schemas of the runner's tables, by name.
void add_table_rules(Json& tables);

/// The rules between tables, for the whole recipe's "allOf".
Json recipe_rules();

}  // namespace holdfast::spec
