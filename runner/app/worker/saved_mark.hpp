// Whether a generation ever saved a checkpoint, by what it left besides its checkpoints. Reads only.
#pragma once

#include <optional>
#include <string>

namespace holdfast::app {

/// What says that a checkpoint was saved in this generation: "events.jsonl tells of a checkpoint of update 40",
/// "best.safetensors is there". Empty when nothing does. Unreadable files say nothing; half a line at the end is
/// passed over.
std::optional<std::string> saved_mark(const std::string& generation);

}  // namespace holdfast::app
