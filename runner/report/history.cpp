// Events of names that this version does not know are kept as they read: a later version's run has a report too.
#include "report/history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/moment.hpp"

namespace holdfast::report {
namespace {

bool is_frame(const std::string& name) {
  return name == "time" || name == "event" || name == "attempt" || name == "update";
}

int attempt_number(const Record& event) {
  return static_cast<int>(std::clamp<std::int64_t>(event.integer("attempt", 1), 1, std::numeric_limits<int>::max()));
}

std::string last_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string text_of(const Record& event) {
  std::string text;
  for (const auto& [name, value] : event.fields) {
    if (is_frame(name) || text.size() > 400) continue;
    const bool speaks = name == "text" || name == "why" || name == "reason" || name == "action";
    text += (text.empty() ? "" : ", ") + (speaks ? "" : name + " ") + value_text(value);
  }
  return text;
}

}  // namespace

void History::take(const Record& event) {
  const std::string name = event.text("event");
  if (name.empty()) return;
  ++events;
  if (name == "start" || name == "resume") begin(event, name == "resume");
  Attempt& attempt = attempt_of(event);
  if (const auto now = unix_seconds(event.text("time"))) {
    if (!attempt.begun) attempt.begun = now;
    attempt.last = now;
  }
  if (const std::int64_t at = event.integer("update", -1); at >= 0) {
    attempt.last_update = std::max(attempt.last_update, at);
    highest_update = std::max(highest_update, static_cast<double>(at));
  }
  if (name == "update") return update(event);
  if (name == "eval") return score(event);
  if (name == "checkpoint") return save(event);
  if (name == "skip") return skip(event);
  if (name == "lost") lost += event.integer("lines");
  if (name == "end") {
    attempt.state = event.text("state");
    attempt.reason = event.text("reason");
    if (event.number("exit_code")) attempt.exit_code = event.integer("exit_code");
  }
  if (name != "start" && name != "resume" && name != "end") happen(event, name);
}

void History::begin(const Record& event, bool resumed) {
  Attempt attempt;
  attempt.number = attempt_number(event);
  if (resumed) attempt.from = event.text("from");
  attempt.first_update = attempt.last_update = std::max<std::int64_t>(0, event.integer("update"));
  attempts.add(std::move(attempt));
  facts = event;
  if (const auto bytes = event.number("memory_budget_bytes")) budget = bytes;
}

Attempt& History::attempt_of(const Record& event) {
  const int number = attempt_number(event);
  if (attempts.items().empty() || attempts.items().back().number != number) {
    Attempt attempt;  // its start was lost
    attempt.number = number;
    attempt.first_update = std::max<std::int64_t>(0, event.integer("update"));
    attempts.add(std::move(attempt));
  }
  return attempts.items().back();
}

void History::update(const Record& event) {
  const double at = static_cast<double>(event.integer("update"));
  const int attempt = attempt_number(event);
  const auto add = [&](Series& series, const char* field) {
    if (const auto value = event.number(field)) series.add(at, *value, attempt);
  };
  add(loss, "loss");
  add(grad_norm, "grad_norm");
  add(learning_rate, "learning_rate");
  add(rate, "updates_per_second");
  add(loss_scale, "loss_scale");
  add(slowest, "slowest_seconds");
  add(allocated, "memory_allocated");
  add(peak, "memory_peak");
  add(resident, "resident_bytes");
  double total = 0;
  const auto sum = [&](double& into, const char* field) {
    const double value = event.number(field).value_or(0);
    if (!(value >= 0 && value < 1e9)) return;
    into += value;
    total += value;
  };
  sum(stages.data, "data_wait_seconds");
  sum(stages.forward, "forward_seconds");
  sum(stages.backward, "backward_seconds");
  sum(stages.optimizer, "optimizer_seconds");
  const double windows = event.number("windows").value_or(0);
  if (windows > 0 && event.find("forward_seconds")) update_time.add(at, total / windows, attempt);
}

void History::score(const Record& event) {
  const double at = static_cast<double>(event.integer("update"));
  for (const auto& [name, value] : event.fields) {
    if (is_frame(name) || name == "best" || (scores.size() == kMostScores && !scores.contains(name))) continue;
    if (const auto number = event.number(name)) scores[name].add(at, *number, attempt_number(event));
  }
}

void History::save(const Record& event) {
  Checkpoint saved{event.integer("update"), event.text("time"), last_name(event.text("path")),
                   event.text("reason"),    event.flag("ok"),   event.number("seconds").value_or(0)};
  if (!saved.ok) ++failed_checkpoints;
  if (saved.seconds >= 0 && saved.seconds < 1e9) stages.checkpoint += saved.seconds;
  checkpoints.add(std::move(saved));
}

void History::skip(const Record& event) {
  if (event.text("what") == "sample")
    return samples.add({event.text("source"), event.text("reason"), event.integer("index"), event.integer("epoch")});
  if (event.text("what") != "window") return happen(event, "skip");
  dropped.add(static_cast<double>(event.integer("update")));
}

void History::happen(const Record& event, const std::string& name) {
  happenings.add({event.text("time"), name, text_of(event), event.integer("update"), attempt_number(event)});
}

}  // namespace holdfast::report
