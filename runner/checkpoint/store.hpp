// Checkpoints of one generation: written atomically, verified when read, kept by rule. Torch-free: names, dtypes,
// shapes, bytes. Layout and rules: design 6; file names are a fixed set and never come from a manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/state_view.hpp"

namespace holdfast::checkpoint {

struct Counters {
  std::int64_t update = 0, epoch = 0, samples_seen = 0;
};

struct SaveRequest {
  Counters counters;
  std::string reason;  ///< "periodic", "signal", "end", "best", "oom"
  std::string run_id;  ///< the generation's name; foreign ids are never touched by retention
  int attempt = 1;
  std::string suffix;    ///< "-oom" or empty
  bool is_best = false;  ///< moves the protection of retention here
};

struct Saved {
  std::string path;
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// A checkpoint that was read and verified; owns its bytes. `state` points into them.
struct Loaded {
  std::string path;
  Counters counters;
  std::string
      digest;  ///< hex XXH3-128 over names, dtypes, shapes, bytes of all tensors and the canonical progress JSON
  base::StateView state;
  std::shared_ptr<void> storage;
};

struct TensorInfo {
  std::string name, file, dtype;
  std::vector<std::int64_t> shape;
  std::string digest;
};

struct Inspection {
  std::string path, digest, run_id, reason;
  Counters counters;
  std::vector<TensorInfo> tensors;
  std::string progress_json, identity_json;
};

struct Retention {
  int keep = 3;
  std::int64_t keep_every = 0;  ///< updates; 0: none
};

class Store {
 public:
  /// `generation` is the folder that holds checkpoints/. Nothing is created before the first save.
  Store(std::string generation, Retention retention);
  ~Store();

  /// Writes, fsyncs, renames, moves `latest`, then applies retention. Throws Error 73/74/77; the old state stays.
  Saved save(const base::StateView& state, const SaveRequest& request);

  /// Newest by the update number recorded inside; on damage `told` gets one sentence a candidate and the next is tried.
  /// Empty when there is no checkpoint at all; Error 66 when there are only unreadable ones.
  std::optional<Loaded> newest(const std::function<void(const std::string&)>& told) const;

  /// Exactly this checkpoint; Error 66 when absent or bad.
  static Loaded load(const std::string& path);
  /// Counters, tensors, digests; verifies every checksum. Error 66 when bad.
  static Inspection inspect(const std::string& path);

  /// Removes leftovers of killed saves (temporary folders of this run).
  void clean();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes one safetensors file atomically (final weights).
void write_safetensors(const std::string& path, const std::vector<base::TensorView>& tensors);
/// Reads and checks one safetensors file completely.
Loaded read_safetensors(const std::string& path);

}  // namespace holdfast::checkpoint
