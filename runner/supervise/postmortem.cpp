// nlohmann/json writes and reads the kept form.
#include "supervise/postmortem.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::supervise {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchema = 1;
constexpr std::size_t kLargest = std::size_t{1} << 20;

std::string headline(const Verdict& at) {
  if (at.cause == Cause::kNone) return base::terminal_safe_line(at.sentence) + "\n";
  const std::string sure = at.certainty == Certainty::kEstablished ? ""
                           : at.certainty == Certainty::kLikely    ? "likely "
                                                                   : "not known; at least ";
  return sure + std::string(cause_row(at.cause).name) + " (exit " + std::to_string(at.exit_code) +
         "): " + base::terminal_safe_line(at.sentence) + "\n";
}

std::string place(const Verdict& at) {
  if (at.generation.empty()) return {};
  std::string text =
      "  where      " + base::terminal_safe_line(at.generation) + "\n  attempt    " + std::to_string(at.attempt);
  if (at.update >= 0) text += ", update " + std::to_string(at.update);
  if (!at.phase.empty()) text += ", " + base::terminal_safe_line(at.phase);
  text += at.checkpoint >= 0 ? ", newest checkpoint " + std::to_string(at.checkpoint) : ", no checkpoint";
  if (!at.last_seen.empty()) text += ", last seen " + base::terminal_safe_line(at.last_seen);
  return text + "\n";
}

std::string list(const char* name, const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += (text.empty() ? std::string("  ") + name : std::string(13, ' ')) + base::terminal_safe_line(line) + "\n";
  return text;
}

std::string what_to_do(const Verdict& at) { return at.advice.empty() ? "" : "  do         " + at.advice + "\n"; }

template <class T>
void take(const Json& object, const char* key, T& into) {
  if (const auto found = object.find(key); found != object.end() && !found->is_null()) into = found->get<T>();
}

std::optional<Cause> cause_named(std::string_view name) {
  for (const auto& row : causes())
    if (row.name == name) return row.cause;
  return std::nullopt;
}

std::optional<Certainty> certainty_named(std::string_view name) {
  for (const auto certainty : {Certainty::kEstablished, Certainty::kLikely, Certainty::kUnclear})
    if (certainty_name(certainty) == name) return certainty;
  return std::nullopt;
}

}  // namespace

std::string verdict_text(const Verdict& at) {
  return headline(at) + place(at) + list("evidence   ", at.evidence) + list("not read   ", at.unread) + what_to_do(at);
}

std::string short_text(const Verdict& at, std::size_t limit) {
  Verdict less = at;
  std::string text = verdict_text(less);
  while (text.size() > limit && !less.unread.empty()) less.unread.pop_back(), text = verdict_text(less);
  while (text.size() > limit && !less.evidence.empty()) less.evidence.pop_back(), text = verdict_text(less);
  if (text.size() <= limit) return text;
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t size = std::max<std::size_t>(1, base::utf8_length(std::string_view(text).substr(end)));
    if (end + size > limit) break;
    end += size;
  }
  return text.substr(0, end);
}

std::string verdict_json(const Verdict& at) {
  const CauseRow& row = cause_row(at.cause);
  const Json object = {{"schema", kSchema},
                       {"cause", row.name},
                       {"certainty", certainty_name(at.certainty)},
                       {"exit_code", at.exit_code},
                       {"signal", at.signal},
                       {"sentence", at.sentence},
                       {"evidence", at.evidence},
                       {"unread", at.unread},
                       {"advice", at.advice},
                       {"domain", row.domain},
                       {"outlook", outlook_name(row.outlook)},
                       {"generation", std::filesystem::path(at.generation).filename().string()},
                       {"attempt", at.attempt},
                       {"pid", at.pid},
                       {"state", at.state},
                       {"phase", at.phase},
                       {"update", at.update},
                       {"checkpoint", at.checkpoint},
                       {"last_seen", at.last_seen}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  if (text.size() > kLargest) return std::nullopt;
  int depth = 0;
  for (const char c : text)  // ours nests twice; text inside strings may add a few
    if ((c == '[' || c == '{') && ++depth > 10000) return std::nullopt;
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    if (!object.is_object() || object.value("schema", 0) != kSchema) return std::nullopt;
    const auto cause = cause_named(object.value("cause", ""));
    const auto certainty = certainty_named(object.value("certainty", ""));
    if (!cause || !certainty) return std::nullopt;
    Verdict at;
    at.cause = *cause;
    at.certainty = *certainty;
    take(object, "exit_code", at.exit_code);
    take(object, "signal", at.signal);
    take(object, "sentence", at.sentence);
    take(object, "evidence", at.evidence);
    take(object, "unread", at.unread);
    take(object, "advice", at.advice);
    take(object, "attempt", at.attempt);
    take(object, "pid", at.pid);
    take(object, "state", at.state);
    take(object, "phase", at.phase);
    take(object, "update", at.update);
    take(object, "checkpoint", at.checkpoint);
    take(object, "last_seen", at.last_seen);
    return at;
  } catch (const Json::exception&) {  // a field of another type
    return std::nullopt;
  }
}

bool keep_verdict(const Verdict& verdict) noexcept {
  try {
    if (verdict.generation.empty()) return false;
    base::write_file_atomic(verdict.generation + "/" + kPostmortemFile, verdict_json(verdict));
    return true;
  } catch (const std::exception&) {  // a full or lost disk may be the very cause
    return false;
  }
}

std::optional<Verdict> kept_verdict(const std::string& generation) {
  try {
    auto verdict = parse_verdict(base::read_file(generation + "/" + kPostmortemFile, kLargest));
    if (verdict) verdict->generation = generation;
    return verdict;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Verdict> kept_verdict(const std::string& generation, std::int64_t pid) {
  auto verdict = kept_verdict(generation);
  return verdict && verdict->pid == pid ? verdict : std::nullopt;
}

}  // namespace holdfast::supervise
