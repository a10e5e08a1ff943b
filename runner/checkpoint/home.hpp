// The run home: lock, generations, `current`. Torch-free. Layout: design 2.3.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

enum class GenerationState { kAbsent, kUnfinished, kFinished };

struct Generation {
  std::string path;  ///< absolute folder
  std::string name;  ///< 20261130T101500Z-3f2a
  GenerationState state = GenerationState::kAbsent;
  int attempts = 0;  ///< processes that worked on it before this one
};

/// An owned run home. The lock (flock on <home>/lock, O_CLOEXEC) dies with the process; a stale file never blocks.
class RunHome {
 public:
  /// Looks without locking or creating anything. Path may be a home, a generation or a checkpoint.
  static Generation look(const std::string& path);
  /// The home folder that `path` (home, generation or checkpoint) belongs to. Error 66 when it is none.
  static std::string home_of(const std::string& path);

  /// Creates the home if needed and takes the lock. Error 73 cannot create, 77 foreign or world-writable folder,
  /// 75 (reason "home.locked") when another process holds it, naming its pid.
  static RunHome open(const std::string& home);
  RunHome(RunHome&&) noexcept;
  ~RunHome();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] Generation current() const;
  /// Makes the next generation's folder and moves `current` to it, atomically.
  Generation begin_generation();
  /// Removes all but the newest `keep` finished generations.
  void prune(int keep);

 private:
  struct Impl;
  explicit RunHome(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::checkpoint
