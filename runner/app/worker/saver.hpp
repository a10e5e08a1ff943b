// Snapshots of the engine into the checkpoint store of one generation, and the best weights beside them.
#pragma once

#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/signal.hpp"
#include "checkpoint/store.hpp"
#include "engine/trainer.hpp"

namespace holdfast::app {

class StoreSaver : public engine::Saver {
 public:
  struct Settings {
    std::string generation;  ///< absolute folder
    std::string run_id;      ///< the generation's name
    int attempt = 1;
    checkpoint::Retention retention;
  };
  /// `watcher` is told of each save after a stop request; it outlives this object.
  StoreSaver(base::SignalWatcher& watcher, base::RunLog& log) : watcher_(watcher), log_(log) {}
  /// Before the first save: where to.
  void open(Settings settings);

  SaveReport save(const base::StateView& state, const Request& request) override;
  /// The first checkpoint of a generation that goes on from elsewhere: `start` as it was read, under its own digest.
  /// Throws Error 66/73/74/77.
  SaveReport save_start(const checkpoint::Loaded& start);
  /// Before that, the best one so far where it is an older one. Errors as save_start().
  void save_best(const checkpoint::Loaded& best);

  /// Writes <generation>/model.safetensors, and best.safetensors again from the best update's checkpoint where that is
  /// still there. Throws Error 73/74/77.
  void write_final(const base::StateView& state, std::int64_t best_update);

  [[nodiscard]] checkpoint::Store& store() { return *store_; }

 private:
  Settings settings_;
  std::optional<checkpoint::Store> store_;
  base::SignalWatcher& watcher_;
  base::RunLog& log_;
};

}  // namespace holdfast::app
