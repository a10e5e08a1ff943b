// A verdict as text, as JSON, and as the file that the next reader finds. Knows no rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "supervise/verdict.hpp"

namespace holdfast::supervise {

inline constexpr const char* kPostmortemFile = "postmortem.json";
inline constexpr std::size_t kTerminationLog = 4096;  ///< what Kubernetes keeps of /dev/termination-log

/// For people: the verdict in the first line, then evidence, what could not be read, and what to do. Safe for
/// terminals.
std::string verdict_text(const Verdict& verdict);
/// The same cut to `limit` bytes between characters, the least important lines first.
std::string short_text(const Verdict& verdict, std::size_t limit = kTerminationLog);

/// One object: schema, cause, certainty, exit_code, signal, sentence, evidence, unread, advice, domain, outlook, pid,
/// attempt, update, checkpoint, phase, state, last_seen, generation. Ends with a new line.
std::string verdict_json(const Verdict& verdict);
/// Empty when the text is no verdict of this version, or larger than 1 MiB.
std::optional<Verdict> parse_verdict(std::string_view text);

/// Puts <generation>/postmortem.json; false when it cannot be written: that must not stop anything.
bool keep_verdict(const Verdict& verdict) noexcept;
/// The one that is kept in this folder, if it is of this process.
std::optional<Verdict> kept_verdict(const std::string& generation, std::int64_t pid);
/// The same of whatever process.
std::optional<Verdict> kept_verdict(const std::string& generation);

}  // namespace holdfast::supervise
