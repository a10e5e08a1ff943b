// The run home: lock, generations, `current`. Torch-free. Layout: design 2.3.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.hpp"
#include "checkpoint/place.hpp"
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

  /// Error 73 (reason "home.nested") when `path` lies in a generation of some home, naming that home: nobody would find
  /// a run in there, and pruning removes it. Looks only.
  static void require_own_place(const std::string& path);

  /// Creates the home if needed and takes the lock; then removes what killed predecessors left half made, and leads
  /// `current` to the newest generation where it is missing or leads nowhere. Refuses as require_own_place(). Error 73
  /// cannot create, unwritable or full, 77 permission, or a foreign or world-writable home, current generation or
  /// checkpoint in there, or a link in place of its checkpoints, 75 (reason "home.locked") when
  /// another process holds it, naming its pid.
  /// `system` outlives this object.
  static RunHome open(const std::string& home, base::FileSystem& system = base::FileSystem::real());
  /// Who holds the lock of the home at this path ("process 123"); none when nobody does. A process that opens the home
  /// in that instant tries once more.
  static std::optional<std::string> holder(const std::string& home);
  RunHome(RunHome&&) noexcept;
  ~RunHome();

  [[nodiscard]] const std::string& path() const;
  /// What its file system can do, tried by open().
  [[nodiscard]] const Abilities& abilities() const;
  /// Where `current` points; when that link is missing or broken, the newest generation by name.
  [[nodiscard]] Generation current() const;
  /// Puts what a generation has from its first instant into `folder`, which becomes the generation `name`.
  using Fill = std::function<void(const std::string& folder, const std::string& name)>;
  /// Makes the next generation and moves `current` to it. It is filled under another name first: killed at any instant,
  /// either nothing was begun or a whole generation stands. Names are in order of creation even within one second.
  Generation begin_generation(const Fill& fill = {});
  /// Removes all but the newest `keep` finished generations; never the current one nor an unfinished one.
  void prune(int keep);

 private:
  struct Impl;
  explicit RunHome(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::checkpoint
