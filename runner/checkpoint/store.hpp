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

#include "base/file_system.hpp"
#include "base/state_view.hpp"
#include "checkpoint/place.hpp"

namespace holdfast::checkpoint {

struct Counters {
  std::int64_t update = 0, epoch = 0, samples_seen = 0;
};

struct SaveRequest {
  Counters counters;
  std::string reason;  ///< "periodic", "signal", "end", "best", "oom"
  std::string run_id;  ///< the generation's folder name; foreign ids are never touched by retention
  int attempt = 1;
  std::string suffix;    ///< "-oom" or empty
  bool is_best = false;  ///< moves the protection of retention here
};

struct Saved {
  std::string path;
  std::int64_t bytes = 0;
  double seconds = 0;         ///< without the next
  double verify_seconds = 0;  ///< reading back what was written
  std::string digest;
  /// What went wrong after the checkpoint was in place (retention, `latest`): told, not thrown.
  std::vector<std::string> notes;
};

/// A checkpoint that was read and verified; owns its bytes. `state` points into them.
struct Loaded {
  std::string path;
  Counters counters;
  /// Hex XXH3-128 over names, dtypes, shapes, bytes of all tensors, counters and the canonical progress JSON
  /// (checkpoint/digest.hpp); computed from what was read and equal to what the manifest says.
  std::string digest;
  base::StateView state;
  std::shared_ptr<void> storage;
  std::vector<std::string> notes;  ///< fields of the manifest that this version does not know, one sentence each
};

struct TensorInfo {
  std::string name, file, dtype;
  std::vector<std::int64_t> shape;
  std::string digest;
};

struct Inspection {
  std::string path, digest, run_id, reason, saved_at;
  int attempt = 1;
  bool best = false;
  Counters counters;
  std::vector<TensorInfo> tensors;  ///< by file, then by name
  std::string progress_json, identity_json, extra_json;
  std::vector<std::string> notes;
};

/// What stays after a save, of this run's checkpoints only: the newest `keep`, the best one counted among them (the
/// newest save always stays), and multiples of keep_every. Those with a higher update than the one just saved belong to
/// a future that a rewind gave up: they go too, or they would be taken for the newest.
struct Retention {
  int keep = 3;                 ///< at least 1
  std::int64_t keep_every = 0;  ///< updates; 0: none
};

/// The checkpoints of one generation. Not thread-safe: one save at a time, and the run home is locked.
class Store {
 public:
  /// `generation` is the folder that holds checkpoints/. Nothing is created before the first save. `system` outlives
  /// the store.
  Store(std::string generation, Retention retention, base::FileSystem& system = base::FileSystem::real());
  ~Store();

  /// How to save where the file system cannot do everything (RunHome::abilities).
  void obey(const Abilities& abilities);

  /// Writes beside, fsyncs, reads all back, renames, moves `latest`, then applies retention. The same update saved
  /// again replaces the former in one step. Throws Error 73/74/77, 70 when the state is not well-formed, or 82
  /// (base::kNotFinite) when one of its weights is not finite; what was there stays.
  Saved save(const base::StateView& state, const SaveRequest& request);

  /// Newest by the update number recorded inside; on damage `told` gets one sentence a candidate and the next is tried.
  /// One that another run wrote is none of this run's, whatever its checksums say.
  /// Strangers in the folder and a broken `latest` are told too. Empty when there is no checkpoint at all; Error 66
  /// when there are only unreadable ones, or when the newest has a newer format.
  /// `accept` may refuse what was read and verified: its Error 66 counts as damage, any other one is passed on. Error
  /// 77 when the folder is a link.
  using Told = std::function<void(const std::string&)>;
  using Accept = std::function<void(const Loaded&)>;
  std::optional<Loaded> newest(const Told& told, const Accept& accept = {}) const;
  /// The newest by the update number recorded inside, judged by manifests alone; empty when there is none. One whose
  /// manifest cannot be read is passed over, or counts by its name.
  enum class Damaged { kPassedOver, kCounts };
  [[nodiscard]] std::string newest_path(Damaged damaged = Damaged::kPassedOver) const;

  /// Exactly this checkpoint; Error 66 when absent or bad, naming the file and both sides.
  static Loaded load(const std::string& path);
  /// Counters, tensors, digests; verifies every checksum. Error 66 when bad.
  static Inspection inspect(const std::string& path);

  /// Removes what killed predecessors left: temporary folders of this run, temporary files of the generation. `from`:
  /// name of the verified checkpoint that the run goes on from; retention is then finished for those older than it (a
  /// newer one is of a future that was given up or is damaged: it stays until the next save). Returns what retention
  /// could not remove, one sentence each.
  std::vector<std::string> clean(const std::string& from = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes one safetensors file atomically (final weights); the folder must exist. Errors as save().
void write_safetensors(const std::string& path, const std::vector<base::TensorView>& tensors);
/// Reads and checks one safetensors file completely into state.model; links in the path are followed. `digest` is that
/// of the tensors alone.
Loaded read_safetensors(const std::string& path);

}  // namespace holdfast::checkpoint
