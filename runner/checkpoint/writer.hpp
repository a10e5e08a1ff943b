// One save at a time on a thread of its own, so that training goes on meanwhile. Knows no store: the work is a
// function.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/store.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

/// begin() and take() belong to one thread. What the work reads must stay as it is until take() gave its result. The
/// thread is made by the first begin() and takes no signals.
class Writer {
 public:
  using Work = std::function<Saved()>;
  struct Result {
    std::optional<Saved> saved;    ///< none when it failed
    std::optional<Error> failure;  ///< what was thrown: an Error as it is, bad_alloc as 88, anything else as 70
  };

  Writer();
  /// Waits for the work in hand.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Hands over and returns at once. Error 70 while the result of the last one is not taken.
  void begin(Work work);
  /// Work was begun and its result is not taken yet.
  [[nodiscard]] bool busy() const;
  /// The result, once. Empty when nothing was begun, and without `wait` also while it is being written.
  std::optional<Result> take(bool wait);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::checkpoint
