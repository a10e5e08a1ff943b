// Which segments of a model a strategy means: patterns and policies against names, places and sizes. Torch-free.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engine {

/// A segment as a forward met it.
struct SegmentSize {
  std::string name;
  std::int64_t bytes = 0;  ///< of the tensors it saved; -1: not counted
  bool outermost = true;   ///< not inside another segment
};

/// "all" or "*" is among the entries.
bool everything(const std::vector<std::string>& entries);

/// `entry` is one that Selection takes.
bool chooses(const std::string& entry);

/// Entries of a plan with a "largest:N" among them, and the segments that it turned out to mean. Empty: not known.
struct LargestSegments {
  std::vector<std::string> entries, names;
};
struct KnownSegments {
  LargestSegments recompute, offload;
};

/// Entries are names, patterns ("block.*": `*` stands for any text), and the policies "all", "every:N" (the outermost
/// segments 0, N, 2N, ...) and "largest:N" (the N outermost segments that saved most bytes in the first forward).
class Selection {
 public:
  Selection() = default;
  /// Error 78 for a malformed entry; `owner` and `field` name it.
  Selection(std::string owner, std::string field, std::vector<std::string> entries);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool everything() const { return engine::everything(entries_); }
  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  /// `place`: how many outermost segments came before; -1 inside another one. Before learn(), "largest" means all.
  [[nodiscard]] bool chooses(std::string_view name, std::int64_t place) const;
  /// An entry is this very name.
  [[nodiscard]] bool names(std::string_view name) const;
  [[nodiscard]] bool learned() const { return learned_; }
  /// What "largest" turned out to mean; and as learned before, for the same entries and the same model.
  [[nodiscard]] const std::vector<std::string>& largest() const { return largest_; }
  void recall(std::vector<std::string> largest) {
    largest_ = std::move(largest);
    learned_ = true;
  }
  /// The first forward has ended. Error 78 when an entry chose none of the segments.
  void learn(const std::deque<SegmentSize>& segments);

 private:
  [[nodiscard]] bool entry_chooses(const std::string& entry, std::string_view name, std::int64_t place) const;

  std::string owner_, field_;
  std::vector<std::string> entries_;
  std::vector<std::string> largest_;
  bool learned_ = false;
};

/// "every:12" as 12; -1 when the entry is no policy of that word.
std::int64_t policy_count(std::string_view entry, std::string_view word);

}  // namespace holdfast::engine
