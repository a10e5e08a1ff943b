// What is seen first: name, verdict, figures, and the attempts over the clock.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/moment.hpp"
#include "report/quantity.hpp"
#include "report/sections.hpp"
#include "report/verdict.hpp"

namespace holdfast::report {
namespace {

std::string number_or_dash(const std::optional<double>& value, Unit unit = Unit::kNumber) {
  return value ? quantity(*value, unit) : "-";
}

std::string tile(const std::string& name, const std::string& value, const std::string& more = "",
                 const std::string& extra = "") {
  return "<div class=\"tile\"><dt>" + html(name) + "</dt><dd>" + html(value) +
         (more.empty() ? "" : "<small>" + html(more) + "</small>") + extra + "</dd></div>";
}

std::int64_t trained_seconds(const History& history) {
  std::int64_t sum = 0;
  for (const Attempt& attempt : history.attempts.items())
    if (attempt.begun && attempt.last) sum += std::max<std::int64_t>(0, *attempt.last - *attempt.begun);
  return sum;
}

std::string progress(std::int64_t update, std::int64_t total) {
  if (total <= 0) return {};
  const double share = std::clamp(static_cast<double>(update) / static_cast<double>(total), 0.0, 1.0);
  return "<progress max=\"1\" value=\"" + digits(share) + "\"></progress>";
}

std::string score_tiles(const Record& status) {
  constexpr std::string_view kPrefix = "scores.";
  std::string out;
  int count = 0;
  for (const auto& [name, value] : status.fields)
    if (name.starts_with(kPrefix) && ++count <= 4)
      out += tile("eval " + name.substr(kPrefix.size()), value_text(value), "last evaluation");
  return out;
}

std::string memory_tile(const History& history) {
  if (history.peak.empty()) return {};
  double peak = 0;
  for (const Point& point : history.peak.points()) peak = std::max(peak, point.high);
  if (!history.budget || !(*history.budget > 0))
    return tile("Peak device memory", quantity(peak, Unit::kBytes), "no budget set");
  return tile("Peak device memory", quantity(peak, Unit::kBytes), "of " + quantity(*history.budget, Unit::kBytes),
              progress(static_cast<std::int64_t>(peak), static_cast<std::int64_t>(*history.budget)));
}

std::string place(double share) { return digits(std::clamp(share, 0.0, 1.0) * 100) + "%"; }

std::string ending_of(const Attempt& attempt, bool last, const std::string& state) {
  if (attempt.exit_code) return attempt.state;
  return last ? state : "killed";
}

const char* mood_of(const std::string& ending) {
  if (ending == "finished") return "good";
  if (ending == "stopped") return "warn";
  return ending == "running" ? "calm" : "bad";
}

}  // namespace

std::string header_section(const Material& material) {
  const Verdict verdict = verdict_of(material);
  std::string name = material.status ? material.status->text("run") : "";
  if (name.empty()) name = material.home.empty() ? material.generation : material.home;
  std::string times;
  const auto add = [&](const char* label, const char* field) {
    const std::string at = material.status ? material.status->text(field) : "";
    if (!at.empty()) times += "<span>" + std::string(label) + " <time>" + html(clock_text(at)) + " UTC</time></span>";
  };
  add("started", "started_at");
  add("ended", "ended_at");
  return "<header class=\"" + verdict.mood + "\"><p class=\"brand\">holdfast run report</p><h1>" + html(name) +
         " <span class=\"state\">" + html(verdict.word) + "</span></h1><p class=\"verdict\">" +
         html(verdict.sentence, 1200) + "</p><p class=\"times\"><span>generation <code>" + html(material.generation) +
         "</code></span>" + times + "</p></header>\n";
}

std::string tile_section(const Material& material) {
  const History& history = material.history;
  const Record status = material.status.value_or(Record{});
  const std::int64_t update = status.integer("update"), total = status.integer("total_updates");
  std::string out = "<dl class=\"tiles\">";
  out += tile("Updates", base::human_count(update), total > 0 ? "of " + base::human_count(total) : "",
              progress(update, total));
  if (status.number("loss")) out += tile("Training loss", number_or_dash(status.number("loss")), "at the end");
  out += score_tiles(status);
  if (status.number("best_metric"))
    out += tile("Best", number_or_dash(status.number("best_metric")),
                "at update " + base::human_count(status.integer("best_update")));
  if (const auto rate = status.number("updates_per_second"))
    out += tile("Speed", quantity(*rate, Unit::kPerSecond), "updates");
  const std::int64_t attempts = std::max(history.attempts.total(), status.integer("attempt"));
  out += tile("At work", base::human_duration(static_cast<double>(trained_seconds(history))),
              attempts == 1 ? "in one attempt" : "in " + base::human_count(attempts) + " attempts");
  out += memory_tile(history);
  const std::int64_t written = history.checkpoints.total() - history.failed_checkpoints;
  out += tile("Checkpoints", base::human_count(written),
              history.failed_checkpoints > 0 ? base::human_count(history.failed_checkpoints) + " failed" : "written");
  const std::int64_t samples = std::max(status.integer("skipped_samples"), history.samples.total());
  if (samples > 0) out += tile("Skipped samples", base::human_count(samples), "left out as corrupt");
  const std::int64_t windows = std::max(status.integer("skipped_windows"), history.dropped.total());
  if (windows > 0) out += tile("Dropped windows", base::human_count(windows), "became no update");
  return out + "</dl>\n";
}

std::string timeline_section(const Material& material) {
  const auto& attempts = material.history.attempts.items();
  if (attempts.size() < 2 || !attempts.front().begun || !attempts.back().last) return {};
  const auto begin = static_cast<double>(*attempts.front().begun);
  const double span = std::max(1.0, static_cast<double>(*attempts.back().last) - begin);
  const std::string state = material.status ? verdict_of(material).word : "killed";
  std::string bars;
  for (const Attempt& attempt : attempts) {
    if (!attempt.begun || !attempt.last) continue;
    const std::string ending = ending_of(attempt, &attempt == &attempts.back(), state);
    const double from = (static_cast<double>(*attempt.begun) - begin) / span;
    const double width = static_cast<double>(*attempt.last - *attempt.begun) / span;
    bars += "<i class=\"" + std::string(mood_of(ending)) + "\" style=\"left:" + place(from) + ";width:" + place(width) +
            "\" title=\"attempt " + std::to_string(attempt.number) + ": updates " +
            base::human_count(attempt.first_update) + " to " + base::human_count(attempt.last_update) + ", " +
            html(ending) + "\"></i>";
  }
  return "<section class=\"card timeline\"><h2>Attempts over time</h2><div class=\"strip\">" + bars +
         "</div><p class=\"ends\"><span>start</span><span>" + html(base::human_duration(span)) +
         "</span></p><p class=\"note\">Each bar is one process. Green reached the target, amber stopped after saving, "
         "red was killed or failed; the next one went on from the newest checkpoint.</p></section>\n";
}

}  // namespace holdfast::report
