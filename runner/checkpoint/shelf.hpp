// What stands in a checkpoints folder: names, manifests, and which of them may go. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/store.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {

inline constexpr std::string_view kTemporary = ".tmp-";
inline constexpr std::string_view kReplaced = "-replaced";
inline constexpr std::string_view kAgain = "-again";
inline constexpr const char* kLatest = "latest";
inline constexpr const char* kManifest = "manifest.json";

/// "update-000000500" plus a suffix.
std::string checkpoint_name(std::int64_t update, std::string_view suffix);
/// The update number of a name like "update-500" or "update-000000500-oom"; none for strangers.
std::optional<std::int64_t> update_in_name(std::string_view name);

struct Candidate {
  std::string name;
  std::optional<Manifest> manifest;  ///< none when unreadable
  std::string fault;                 ///< why, in one line
  std::optional<Error> newer;        ///< unreadable only because a newer holdfast wrote it
  [[nodiscard]] std::int64_t update() const {
    return manifest ? manifest->counters.update : update_in_name(name).value_or(-1);
  }
};

struct Shelf {
  std::vector<Candidate> candidates;  ///< newest first, by the update recorded inside
  std::vector<std::string> strangers;
};

/// Reads the names and all manifests. Throws only when the folder itself cannot be read or descriptors are spent.
Shelf read_shelf(const base::Folder& checkpoints);
/// Names that retention gives up after `saved` came into place; oldest first. Pure.
std::vector<std::string> expendable(const std::vector<Candidate>& candidates, const Retention& retention,
                                    const std::string& run_id, const std::string& saved);

/// One line of an error: place and what, without reason and hint.
std::string one_line(const Error& error);
/// True when an error is about this process (descriptors, memory) and says nothing about the checkpoint: then no other
/// one may be taken in its place.
bool says_nothing(const Error& error);

}  // namespace holdfast::checkpoint
