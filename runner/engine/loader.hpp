// Windows as batches on the host, read ahead by background threads. Knows order and threads; what a sample is, only the
// data set knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/prefetch.hpp"
#include "data/window.hpp"
#include "holdfast/dataset.hpp"

namespace holdfast::engine {

struct LoaderSettings {
  std::string table;  ///< "dataset.train", for errors
  std::int64_t batch_size = 1;
  bool shuffle = false, drop_last = false;
  std::uint64_t seed = 0;
  int threads = 1, prefetch = 4;
};

struct CorruptRow {
  std::int64_t row = 0;  ///< in the batch
  std::string source, reason;
};

struct LoadedWindow {
  data::Window window;
  Batch batch;
  std::vector<CorruptRow> corrupt;  ///< in order of rows; their fields hold anything
};

/// Windows [first, last) of a run over one data set. `next` belongs to one thread.
/// A failure of the data set in window n is thrown by the call that would have returned it: an Error as it is, anything
/// else as Error 70 naming the table and the window.
class Loader {
 public:
  /// Error 65 when the data set is empty; 78 when drop_last leaves no window.
  Loader(const Dataset& dataset, const LoaderSettings& settings);
  /// Reads from this window on. Stops the threads of an earlier start.
  void start(std::int64_t first, std::int64_t last);
  [[nodiscard]] bool done() const { return prefetch_->done(); }
  LoadedWindow next() { return prefetch_->next(); }
  /// The same; empty when the data set has not delivered and `stopped()` says that nobody waits for it any more.
  template <class Stopped>
  std::optional<LoadedWindow> next(const Stopped& stopped) {
    return prefetch_->next(stopped);
  }
  [[nodiscard]] const data::WindowPlan& plan() const { return reader_->plan; }
  /// Ends the threads; start() may follow.
  void stop() { prefetch_.reset(); }
  /// The same within about a second: a thread that the data set keeps longer is left behind
  /// (data::threads_left_behind), and the data set must not be destroyed.
  void leave();

 private:
  /// What threads use: it lives as long as the last of them.
  struct Reader {
    const Dataset& dataset;
    const LoaderSettings settings;
    const data::WindowPlan plan;
    [[nodiscard]] LoadedWindow read(std::int64_t number) const;
  };
  [[nodiscard]] int depth() const;

  std::shared_ptr<const Reader> reader_;
  std::unique_ptr<data::Prefetch<LoadedWindow>> prefetch_;
};

/// Takes rows out of a batch; `rows` ascending.
void remove_rows(Batch& batch, const std::vector<std::int64_t>& rows);

}  // namespace holdfast::engine
