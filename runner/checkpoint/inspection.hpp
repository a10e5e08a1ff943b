// An inspection as text for people and as JSON for machines.
#pragma once

#include <string>

#include "checkpoint/store.hpp"

namespace holdfast::checkpoint {

/// Facts, then a table of tensors; ends with a new line. Safe for terminals.
std::string inspection_table(const Inspection& inspection);
/// One object: path, update, epoch, samples_seen, digest, run_id, attempt, reason, best, saved_at,
/// tensors: [{name, file, dtype, shape, digest}], progress, identity, extra. Ends with a new line.
std::string inspection_json(const Inspection& inspection);

}  // namespace holdfast::checkpoint
