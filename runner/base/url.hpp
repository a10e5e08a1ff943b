// The address of a server that holdfast sends to, as users write it. Pure text: asks no name server.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::base {

/// What is wrong with an http or https URL that things are posted to, to follow the quoted text: "has no host"; empty
/// when nothing is. User names and passwords, queries and fragments are refused: credentials do not belong in recipes.
std::string url_problem(std::string_view url);

}  // namespace holdfast::base
