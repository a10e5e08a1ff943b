// Snapshots of the engine into the checkpoint store of one generation, and the best weights beside them.
#pragma once

#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/signal.hpp"
#include "checkpoint/requests.hpp"
#include "checkpoint/store.hpp"
#include "checkpoint/writer.hpp"
#include "engine/trainer.hpp"

namespace holdfast::app {

class StoreSaver : public engine::Saver {
 public:
  struct Settings {
    std::string generation;  ///< absolute folder
    std::string run_id;      ///< the generation's name
    int attempt = 1;
    checkpoint::Retention retention;
    checkpoint::Abilities abilities{};
  };
  /// `watcher` is told when the present state is safe; it outlives this object.
  StoreSaver(base::SignalWatcher& watcher, base::RunLog& log) : watcher_(watcher), log_(log) {}
  /// Before the first save: where to.
  void open(Settings settings);

  /// From now on states may be written on another thread.
  void write_behind() { behind_ = true; }

  SaveReport save(const base::StateView& state, const Request& request) override;
  [[nodiscard]] bool in_background() const override { return behind_; }
  void begin(const std::function<base::StateView()>& snapshot, const Request& request) override;
  std::optional<Settled> settle(bool wait) override;
  void note_present() override { watcher_.note_saved(); }
  std::optional<std::string> wanted() override;
  std::optional<Found> newest(std::int64_t window, const std::function<void(const std::string&)>& told) override;
  /// The first checkpoint of a generation that goes on from elsewhere: `start` as it was read, under its own digest.
  /// Throws Error 66/73/74/77.
  SaveReport save_start(const checkpoint::Loaded& start);
  /// Before that, the best one so far where it is an older one. Errors as save_start().
  void save_best(const checkpoint::Loaded& best);

  /// Writes <generation>/model.safetensors, and best.safetensors again from the best update's checkpoint where that is
  /// still there. Throws Error 73/74/77.
  void write_final(const base::StateView& state, std::int64_t best_update);

  /// Not while a state is being written on another thread.
  [[nodiscard]] checkpoint::Store& store() { return *store_; }

 private:
  [[nodiscard]] checkpoint::SaveRequest named(const Request& request) const;
  checkpoint::Saved write(const base::StateView& state, const checkpoint::SaveRequest& request);
  void answer(const checkpoint::Answer& answer);
  [[nodiscard]] SaveReport told(const checkpoint::Saved& saved, const checkpoint::SaveRequest& request);

  Settings settings_;
  std::optional<checkpoint::Store> store_;
  std::optional<checkpoint::RequestBox> requests_;
  base::SignalWatcher& watcher_;
  base::RunLog& log_;
  bool behind_ = false;
  checkpoint::SaveRequest begun_;  ///< what is being written on another thread
  checkpoint::Writer writer_;      ///< last: its thread uses the others
};

}  // namespace holdfast::app
