// JSON that may come from strangers: depth, length and duplicate keys are checked before a tree is built. Private to
// this folder.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace holdfast::checkpoint {

inline constexpr std::size_t kJsonDepth = 64;

/// Parses one JSON object of at most kJsonDepth levels. Error 66 (reason "checkpoint.json") at `where` otherwise, with
/// the position.
nlohmann::json foreign_json(std::string_view text, const std::string& where);
/// The same for text that this process made; empty text means {}. Error 70 naming `part` otherwise.
nlohmann::json own_json(std::string_view text, const std::string& part);

}  // namespace holdfast::checkpoint
