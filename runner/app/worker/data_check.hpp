// Reads every sample of a data set once and counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/model.hpp"

namespace holdfast::app {

struct DataCheck {
  std::string table;  ///< "dataset.train"
  std::int64_t samples = 0, corrupt = 0;
  std::vector<FieldInfo> fields;
  std::vector<std::string> reasons;  ///< of the first corrupt samples
};

/// Counts as corrupt what the data set cannot read. A label that the model refuses ends the check, as it would end the
/// run. Throws what data set and model throw.
DataCheck check_data(const Dataset& dataset, const Model& model, const std::string& table, int threads);

std::string data_table(const std::vector<DataCheck>&);

}  // namespace holdfast::app
