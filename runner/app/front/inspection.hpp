// `holdfast inspect PATH`: a checkpoint in words or JSON.
#pragma once

#include <string>

#include "checkpoint/store.hpp"

namespace holdfast::app {

/// Verifies the checkpoint at `path`, or the newest good one of a run home or generation. Error 66 when there is none.
checkpoint::Inspection inspect_path(const std::string& path);

std::string inspection_text(const checkpoint::Inspection&);
/// Fields of design 2.3: path, run_id, reason, update, epoch, samples_seen, digest, tensors, progress, identity.
std::string inspection_json(const checkpoint::Inspection&);

}  // namespace holdfast::app
