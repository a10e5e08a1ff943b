// Kinds by their text with every run of digits as one '#'.
#include "base/log_limit.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::base {
namespace {

constexpr std::chrono::nanoseconds kMinute = std::chrono::minutes(1);
constexpr std::size_t kKeyBytes = 200;    // longer lines are told apart by their beginning
constexpr std::size_t kFirstBytes = 300;  // of a line that is told again

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string kind_of(std::string_view text) {
  std::string kind;
  for (std::size_t i = 0; i < text.size() && kind.size() < kKeyBytes; ++i) {
    if (!is_digit(text[i])) {
      kind += text[i];
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

}  // namespace

LogLimit::Verdict LogLimit::admit(std::string_view text, std::chrono::nanoseconds now) {
  Verdict verdict;
  if (now >= next_look_) end_minutes(now, verdict.over);
  std::string name = kind_of(text);
  if (kinds_.size() >= kKinds && !kinds_.contains(name)) name.clear();
  Kind& kind = kinds_[std::move(name)];
  if (kind.passed == 0) {
    kind.begin = now;
    kind.kept.first = text.substr(0, kFirstBytes);
  }
  verdict.pass = kind.passed < per_minute_;
  if (verdict.pass) {
    ++kind.passed;
  } else {
    ++kind.kept.count;
  }
  return verdict;
}

void LogLimit::end_minutes(std::chrono::nanoseconds now, std::vector<Kept>& over) {
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    Kind& kind = at->second;
    if (now - kind.begin < kMinute) {
      ++at;
      continue;
    }
    if (kind.kept.count > 0) over.push_back(std::move(kind.kept));
    at = kinds_.erase(at);
  }
  next_look_ = now + kMinute;
  for (const auto& [name, kind] : kinds_) next_look_ = std::min(next_look_, kind.begin + kMinute);
}

std::vector<LogLimit::Kept> LogLimit::take_rest() {
  std::vector<Kept> rest;
  for (auto& [name, kind] : kinds_)
    if (kind.kept.count > 0) rest.push_back(std::move(kind.kept));
  kinds_.clear();
  return rest;
}

std::string left_out_text(const LogLimit::Kept& kept) {
  const bool one = kept.count == 1;
  return std::to_string(kept.count) + (one ? " more line like this was" : " more lines like this were") +
         " left out: " + kept.first;
}

}  // namespace holdfast::base
