// What a run knows about its saves: which state is safe, which is being written, which failed and is tried again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/tensor_copies.hpp"
#include "engine/trainer.hpp"

namespace holdfast::engine {

/// The state of a run by its place in the series of windows.
struct SavePoint {
  std::int64_t update = -1, window = -1;  ///< -1: none
  bool evaluation_pending = false;
  bool operator==(const SavePoint&) const = default;
};

/// The distance between two tries of a save: 1 s at first, then twice as long each time, at most a minute.
class BackOff {
 public:
  void failed(Duration now) {
    next_ = now + distance_;
    distance_ = std::min<Duration>(distance_ * 2, kLongest);
  }
  void succeeded() { distance_ = kFirst, next_.reset(); }
  /// A try is owed and its time has come.
  [[nodiscard]] bool due(Duration now) const { return next_ && now >= *next_; }
  [[nodiscard]] std::int64_t seconds_left(Duration now) const {
    return next_ ? std::chrono::ceil<std::chrono::seconds>(*next_ - now).count() : 0;
  }

 private:
  static constexpr Duration kFirst = std::chrono::seconds(1), kLongest = std::chrono::minutes(1);
  Duration distance_ = kFirst;
  std::optional<Duration> next_;
};

struct Saving {
  /// A snapshot on its way to the disk, or one whose way there failed.
  struct Snapshot {
    SavePoint point;
    Saver::Request request;
    Duration taken{};
  };
  SavePoint safe;                    ///< the newest state that lies where this run saves
  std::optional<Snapshot> writing;   ///< its bytes are those of the copies below
  std::optional<Snapshot> failed;    ///< still in the copies
  std::optional<std::string> again;  ///< reason of a failed save without a copy
  BackOff back_off;
  TensorCopies model, optimizer;
  base::StateView view;   ///< of the copies
  bool no_room = false;   ///< the host had no memory for the copies: saves are synchronous from then on
  bool hopeless = false;  ///< a save failed that had to succeed: the way out must not try another
};

}  // namespace holdfast::engine
