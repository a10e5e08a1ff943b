// The parts of the page, from top to bottom. Each gives HTML, or nothing where there is nothing to show. Private to
// this folder.
#pragma once

#include <string>

#include "report/material.hpp"

namespace holdfast::report {

std::string header_section(const Material&);    ///< name, state, verdict
std::string tile_section(const Material&);      ///< the figures at a glance
std::string timeline_section(const Material&);  ///< attempts over the clock; nothing for a single one
std::string chart_section(const Material&);
std::string time_section(const Material&);  ///< shares of the stages, percentiles of an update
std::string attempt_section(const Material&);
std::string checkpoint_section(const Material&);
std::string happening_section(const Material&);
std::string sample_section(const Material&);
std::string recipe_section(const Material&);
std::string environment_section(const Material&);

/// A card with a heading and a table; `rows` are whole cells that are HTML already.
std::string table_card(const std::string& title, const std::string& note, const std::vector<std::string>& heads,
                       const std::vector<std::vector<std::string>>& rows);

}  // namespace holdfast::report
