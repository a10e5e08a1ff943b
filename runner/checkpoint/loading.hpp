// Reading checkpoints back, checked to the last byte. Private to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/store.hpp"

namespace holdfast::checkpoint {

struct Verified {
  Manifest manifest;
  Loaded loaded;
};

/// One checkpoint folder, all of it; Error 66 naming file and both sides of a mismatch.
Verified read_checkpoint(const base::Folder& folder);
/// See Store::newest.
std::optional<Loaded> load_newest(const base::Folder& checkpoints, const std::string& run_id, const Store::Told& told,
                                  const Store::Accept& accept);

}  // namespace holdfast::checkpoint
