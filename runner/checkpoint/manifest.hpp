// manifest.json of a checkpoint: what it holds, how large and with which hash. Written last; its own hash closes it.
// Private to this folder.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/store.hpp"

namespace holdfast::checkpoint {

inline constexpr int kFormatVersion = 1;
inline constexpr std::size_t kLargestManifest = std::size_t{1} << 20;
inline constexpr std::size_t kLargestState = std::size_t{256} << 20;
/// The files of a checkpoint beside the manifest. Names never come from a manifest.
inline constexpr std::array<const char*, 3> kFiles = {"model.safetensors", "optimizer.safetensors", "state.json"};

struct Manifest {
  Counters counters;
  std::string run_id, reason, digest, saved_at;
  int attempt = 1;
  bool best = false;
  std::array<WrittenFile, kFiles.size()> files;  ///< in the order of kFiles
  std::vector<std::string> notes;                ///< unknown fields, one sentence each; not written
};

/// JSON whose last line but one is `"manifest_xxh3_128"`: the hash of all bytes before that line.
std::string render_manifest(const Manifest& manifest);
/// Error 66 at `where`: a newer format (reason "checkpoint.version", both numbers) when its closing hash fits: every
/// format keeps `format_version` and that last line. Otherwise damage, or a missing or mistyped field by name.
Manifest parse_manifest(std::string_view text, const std::string& where);

}  // namespace holdfast::checkpoint
