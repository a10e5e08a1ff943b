// Listing and retention.
#include "checkpoint/shelf.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.hpp"

namespace holdfast::checkpoint {

std::string checkpoint_name(std::int64_t update, std::string_view suffix) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "update-%09lld", static_cast<long long>(update));
  return text.data() + std::string(suffix);
}

std::optional<std::int64_t> update_in_name(std::string_view name) {
  constexpr std::string_view kPrefix = "update-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t number = 0;
  std::size_t digits = 0;
  for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9'; ++digits) {
    if (digits == 18) return std::nullopt;
    number = number * 10 + (name[digits] - '0');
  }
  name.remove_prefix(digits);
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (digits == 0 || !plain || (!name.empty() && (name.front() != '-' || name.size() == 1))) return std::nullopt;
  return number;
}

std::string one_line(const Error& error) {
  return (error.where().empty() ? "" : error.where() + ": ") + error.message();
}

bool says_nothing(const Error& error) {
  return error.reason() == "io.descriptors" || error.code() == ExitCode::kHostOutOfMemory;
}

Shelf read_shelf(const base::Folder& checkpoints) {
  Shelf shelf;
  for (const base::Entry& entry : checkpoints.entries()) {
    if (entry.name.starts_with('.') || entry.name == kLatest) continue;
    if (entry.kind != base::EntryKind::kFolder || !update_in_name(entry.name)) {
      shelf.strangers.push_back(entry.name);
      continue;
    }
    Candidate candidate{entry.name, std::nullopt, {}, std::nullopt};
    try {
      const base::Folder folder = checkpoints.open_below(entry.name);
      candidate.manifest =
          parse_manifest(folder.read("manifest.json", kLargestManifest), folder.path_of("manifest.json"));
    } catch (const Error& error) {
      if (says_nothing(error)) throw;
      candidate.fault = one_line(error);
      if (error.reason() == "checkpoint.version") candidate.newer = error;
    }
    shelf.candidates.push_back(std::move(candidate));
  }
  const auto replaced = [](const Candidate& c) { return c.name.ends_with(kReplaced); };
  std::sort(shelf.candidates.begin(), shelf.candidates.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.update() != b.update()) return a.update() > b.update();
    if (replaced(a) != replaced(b)) return replaced(b);
    return a.name > b.name;  // with a suffix: an emergency save comes after the ordinary one
  });
  return shelf;
}

std::vector<std::string> expendable(const std::vector<Candidate>& candidates, const Retention& retention,
                                    const std::string& run_id, const std::string& saved) {
  std::vector<const Candidate*> own;
  std::int64_t now = -1;
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest || candidate.manifest->run_id != run_id) continue;
    own.push_back(&candidate);
    if (candidate.name == saved) now = candidate.update();
  }
  if (now < 0) return {};  // the new one cannot be seen: nothing is given up
  const auto past = [&](const Candidate* c) { return c->update() <= now; };
  const auto best =
      std::find_if(own.begin(), own.end(), [&](const Candidate* c) { return past(c) && c->manifest->best; });
  int places = std::max(1, retention.keep) - (best != own.end() && (*best)->name != saved ? 1 : 0) - 1;
  std::vector<std::string> gone;
  for (const Candidate* candidate : own) {
    const bool multiple = retention.keep_every > 0 && candidate->update() % retention.keep_every == 0;
    if (candidate->name == saved || (best != own.end() && candidate == *best)) continue;
    if (past(candidate) && (multiple || places-- > 0)) continue;
    gone.push_back(candidate->name);
  }
  std::reverse(gone.begin(), gone.end());
  return gone;
}

}  // namespace holdfast::checkpoint
