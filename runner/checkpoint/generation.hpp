// Generations as folders of a home: names, state, which is current. Private to this folder; locks nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/folder.hpp"
#include "checkpoint/home.hpp"

namespace holdfast::checkpoint {

inline constexpr const char* kCurrent = "current";

/// "20261130T101500Z-3f2a".
bool is_generation_name(std::string_view name);
/// Names of all generation folders in a home, oldest first.
std::vector<std::string> generation_names(const base::Folder& home);
/// State and attempts from the generation's status.json: finished only when its "state" says "finished"; a missing or
/// unreadable file means unfinished.
Generation read_generation(const base::Folder& home, const std::string& name);
/// Target of `current`, or the newest by name when the link is missing or broken.
std::optional<std::string> current_generation(const base::Folder& home);
/// A name for now that none of `taken` has, later in order than all of the same second.
std::string next_generation_name(base::WallTime now, const std::vector<std::string>& taken);

}  // namespace holdfast::checkpoint
