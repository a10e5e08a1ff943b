// What status.json and events.jsonl say of a process that ends without unwinding: by a crash, or by a second stop
// signal. Prepared while all is well, written where almost nothing is allowed. One run a process.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/status.hpp"

namespace holdfast::telemetry {

/// Remembers how a status of this run reads, and where it lies. Called by one thread at each publication. A status or a
/// folder that is too long for the room kept here is not remembered.
void prepare_last_words(const std::string& generation_folder, const Status& status) noexcept;

/// The run has told its end itself: speak_last_words then does nothing.
void forget_last_words() noexcept;

/// Replaces status.json by the remembered one with this exit code, cause and the time (state "stopped" for 75,
/// otherwise "failed"), and appends the event "end". Async-signal-safe, from any thread; the first call wins, later
/// ones and one without preparation do nothing. Never fails loudly: what cannot be written stays as it was.
void speak_last_words(int exit_code, std::string_view cause) noexcept;

}  // namespace holdfast::telemetry
