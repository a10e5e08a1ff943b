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
  int attempts = 0;  ///< processes that worked on it before this one: "attempt" of its status.json
};

/// An owned run home. The lock (flock on <home>/lock, O_CLOEXEC) dies with the process; a stale file never blocks.
class RunHome {
 public:
  /// Looks without locking or creating anything. Path may be a home (its current generation), a generation or a
  /// checkpoint (its generation). kAbsent with an empty path where there is no generation, or nothing at all.
  static Generation look(const std::string& path);
  /// The home folder that `path` (home, generation or checkpoint) belongs to. Error 66 when it is none.
  static std::string home_of(const std::string& path);

  /// Creates the home if needed and takes the lock. Error 73 cannot create, unwritable or full, 77 permission, foreign
  /// or world-writable folder, 75 (reason "home.locked") when another process holds it, naming its pid.
  static RunHome open(const std::string& home);
  RunHome(RunHome&&) noexcept;
  ~RunHome();

  [[nodiscard]] const std::string& path() const;
  /// Where `current` points; when that link is missing or broken, the newest generation by name.
  [[nodiscard]] Generation current() const;
  /// Makes the next generation's folder and moves `current` to it, atomically. Names are in order of creation even
  /// within one second. Generations that a killed predecessor left empty are removed.
  Generation begin_generation();
  /// Removes all but the newest `keep` finished generations; never the current one nor an unfinished one.
  void prune(int keep);

 private:
  struct Impl;
  explicit RunHome(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::checkpoint
