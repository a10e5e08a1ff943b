// Matching is by the shortest text that each star can stand for; sizes decide "largest" once.
#include "engine/selection.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::engine {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string list_of(const std::deque<SegmentSize>& segments) {
  std::string text;
  for (const auto& segment : segments) text += (text.empty() ? "" : ", ") + segment.name;
  return text;
}

}  // namespace

std::int64_t policy_count(std::string_view entry, std::string_view word) {
  if (!entry.starts_with(word) || entry.size() <= word.size() || entry[word.size()] != ':') return -1;
  const char* const end = entry.data() + entry.size();
  std::int64_t count = 0;
  const auto read = std::from_chars(entry.data() + word.size() + 1, end, count);
  const bool whole = read.ec == std::errc() && read.ptr == end;
  return whole && count > 0 ? count : 0;
}

bool chooses(const std::string& entry) {
  return !entry.empty() && policy_count(entry, "every") != 0 && policy_count(entry, "largest") != 0;
}

Selection::Selection(std::string owner, std::string field, std::vector<std::string> entries)
    : owner_(std::move(owner)), field_(std::move(field)), entries_(std::move(entries)) {
  for (const auto& entry : entries_) {
    if (!engine::chooses(entry))
      throw Error(ExitCode::kBadRecipe, "plan.segments", owner_, "'" + entry + "' chooses no segments to " + field_,
                  "write all, every:N or largest:N with N at least 1, or a pattern such as block.*");
  }
}

bool everything(const std::vector<std::string>& entries) {
  return std::ranges::any_of(entries, [](const auto& entry) { return entry == "*" || entry == "all"; });
}

bool Selection::names(std::string_view name) const { return std::ranges::find(entries_, name) != entries_.end(); }

bool Selection::chooses(std::string_view name, std::int64_t place) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry_chooses(entry, name, place); });
}

bool Selection::entry_chooses(const std::string& entry, std::string_view name, std::int64_t place) const {
  if (const auto every = policy_count(entry, "every"); every > 0) return place >= 0 && place % every == 0;
  if (policy_count(entry, "largest") > 0)
    return learned_ ? std::ranges::find(largest_, name) != largest_.end() : place >= 0;
  return entry == "all" || matches(entry, name);
}

void Selection::learn(const std::deque<SegmentSize>& segments) {
  const auto any = [&](const std::string& entry) {
    std::int64_t place = 0;
    return std::ranges::any_of(segments, [&](const SegmentSize& segment) {
      return entry_chooses(entry, segment.name, segment.outermost ? place++ : -1);
    });
  };
  for (const auto& entry : entries_)
    if (!any(entry))
      throw Error(
          ExitCode::kBadRecipe, "plan.segments", owner_,
          "'" + entry + "' chooses no segment to " + field_ + "; " +
              (segments.empty() ? "the model's forward ran none" : "those of the model are " + list_of(segments)),
          "name segments that the model has, or remove the table");
  for (const auto& entry : entries_) {
    const auto count = policy_count(entry, "largest");
    if (count <= 0) continue;
    std::vector<SegmentSize> order;
    std::ranges::copy_if(segments, std::back_inserter(order), &SegmentSize::outermost);
    std::ranges::stable_sort(order, std::greater{}, &SegmentSize::bytes);
    if (std::cmp_less(count, order.size())) order.resize(static_cast<std::size_t>(count));
    for (auto& segment : order) largest_.push_back(std::move(segment.name));
  }
  learned_ = true;
}

}  // namespace holdfast::engine
