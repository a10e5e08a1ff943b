// From status.json alone: its state, exit code and cause.
#include "report/verdict.hpp"

#include "base/exit_codes.hpp"

namespace holdfast::report {
namespace {

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

Verdict verdict_of(const Material& material) {
  if (!material.status)
    return {"unknown", "warn", "status.json is absent or cannot be read; what follows comes from the other files."};
  const Record& status = *material.status;
  const std::string state = status.text("state"), cause = status.text("cause");
  const std::int64_t code = status.integer("exit_code", -1);
  if (state == "finished") return {"finished", "good", capital(cause.empty() ? "the target is reached" : cause) + "."};
  if (state == "stopped")
    return {"stopped", "warn",
            capital(cause.empty() ? "it was asked to stop" : cause) +
                ". The state is saved: the same command goes on from here."};
  if (state == "failed") {
    const std::string meaning = code < 0 ? "no exit code was written"
                                         : "exit code " + std::to_string(code) + ", " +
                                               std::string(base::exit_code_row(static_cast<ExitCode>(code)).meaning);
    return {"failed", "bad", capital(meaning) + (cause.empty() ? "." : ": " + cause)};
  }
  if (state == "abandoned") return {"abandoned", "calm", "A newer generation was begun before this one was finished."};
  if (material.maker.process_gone)
    return {"interrupted", "bad",
            "Its process is gone and left no word, as after SIGKILL or a power cut. The same command goes on from the "
            "newest checkpoint."};
  if (state == "running") return {"running", "calm", "It was at work when this report was made."};
  return {state.empty() ? "unknown" : state, "warn", cause};
}

}  // namespace holdfast::report
