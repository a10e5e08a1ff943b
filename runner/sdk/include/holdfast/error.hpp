// The one exception type that crosses library borders: a sentence for people, and the exit code it leads to.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "holdfast/exit_code.hpp"

#define HOLDFAST_VISIBLE __attribute__((visibility("default")))

namespace holdfast {

/// A failure that a person must act on. It reads
///   `where: error[reason]: what` and, when there is a next action, a line `hint: hint`.
/// `reason` is `area.slug` ("data.truncated") and is stable: scripts match it.
class HOLDFAST_VISIBLE Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string reason, std::string where, std::string what, std::string hint = {})
      : std::runtime_error(compose(reason, where, what, hint)),
        code_(code),
        reason_(std::move(reason)),
        where_(std::move(where)),
        message_(std::move(what)),
        hint_(std::move(hint)) {}

  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  static std::string compose(const std::string& reason, const std::string& where, const std::string& what,
                             const std::string& hint) {
    std::string text = where.empty() ? std::string{} : where + ": ";
    text += "error[" + reason + "]: " + what;
    if (!hint.empty()) text += "\n  hint: " + hint;
    return text;
  }

  ExitCode code_;
  std::string reason_, where_, message_, hint_;
};

}  // namespace holdfast
