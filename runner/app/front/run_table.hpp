// `holdfast status DIR`: every run below a folder, from their status.json.
#pragma once

#include <string>
#include <vector>

#include "telemetry/status.hpp"

namespace holdfast::app {

struct RunRow {
  std::string home;  ///< below the folder that was asked for
  telemetry::Status status;
  bool process_gone = false;  ///< the status says "running", but its process does not exist here
};

/// The status says "running", but no process of its pid exists here.
bool is_interrupted(const telemetry::Status&);

/// Run homes at or below `folder`, sorted by path; links are not followed, generations not descended into.
/// Error 66 when `folder` cannot be read.
std::vector<RunRow> find_runs(const std::string& folder);

std::string run_table(const std::vector<RunRow>&);
std::string run_json(const std::vector<RunRow>&);

}  // namespace holdfast::app
