// All that a report is made of, read from a generation's folder. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/exposition.hpp"
#include "report/history.hpp"
#include "report/record.hpp"
#include "report/report.hpp"

namespace holdfast::report {

struct Material {
  std::string generation;  ///< name of the folder
  std::string home;        ///< name of the folder above
  Maker maker;
  std::optional<Record> status;
  History history;
  std::vector<Sample> figures;  ///< of metrics.prom: of the last process alone
  std::string recipe;
  bool recipe_cut = false;
  bool events_found = false, events_torn = false;
  std::int64_t unreadable = 0;  ///< lines of events.jsonl that are no event
};

/// Reads what is there; what is absent or damaged is left out and told in the page.
Material gather(const std::string& generation_folder, const Maker& maker);

}  // namespace holdfast::report
