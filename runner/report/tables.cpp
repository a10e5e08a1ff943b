// What is a list rather than a curve.
#include <algorithm>
#include <array>

#include "base/exit_codes.hpp"
#include "base/text.hpp"
#include "report/html.hpp"
#include "report/moment.hpp"
#include "report/quantity.hpp"
#include "report/sections.hpp"
#include "report/verdict.hpp"

namespace holdfast::report {
namespace {

constexpr std::size_t kLongCell = 60;  ///< bytes of HTML

std::string shown_of(std::size_t shown, std::int64_t total, const std::string& what) {
  if (static_cast<std::int64_t>(shown) == total) return {};
  return "The newest " + base::human_count(static_cast<std::int64_t>(shown)) + " of " + base::human_count(total) + " " +
         what + ".";
}

std::string count(std::int64_t value) { return base::human_count(value); }

struct Stage {
  const char* name;
  double seconds;
};

std::string stage_bar(const std::vector<Stage>& stages, double total) {
  std::string bar, legend;
  char look = 'a';
  for (const Stage& stage : stages) {
    const std::string share = quantity(stage.seconds / total, Unit::kShare);
    const std::string title =
        html(std::string(stage.name) + ": " + quantity(stage.seconds, Unit::kSeconds) + ", " + share);
    bar += std::string("<i class=\"") + look + "\" style=\"flex-grow:" + digits(stage.seconds / total * 1000) +
           "\" title=\"" + title + "\"></i>";
    legend += std::string("<li class=\"") + look + "\">" + html(stage.name) + " <b>" + share + "</b></li>";
    ++look;
  }
  return "<div class=\"bar\">" + bar + "</div><ul class=\"key\">" + legend + "</ul>";
}

std::string percentile_table(const std::vector<Sample>& figures) {
  constexpr std::array<double, 4> kShares = {0.5, 0.9, 0.99, 0.999};
  constexpr std::array<std::pair<const char*, const char*>, 2> kPhases = {
      {{"compute", "computing"}, {"data", "waiting for data"}}};
  std::string rows;
  for (const auto& [phase, words] : kPhases) {
    if (!quantile(figures, "holdfast_update_duration_seconds", "phase", phase, 0.5)) continue;
    rows += "<tr><th>" + std::string(words) + "</th>";
    for (const double share : kShares)
      rows += "<td>" +
              html(quantity(*quantile(figures, "holdfast_update_duration_seconds", "phase", phase, share),
                            Unit::kSeconds)) +
              "</td>";
    rows += "</tr>";
  }
  if (rows.empty()) return {};
  return "<div class=\"scroll\"><table><thead><tr><th>time of an update</th><th>p50</th><th>p90</th><th>p99</th>"
         "<th>p99.9</th></tr></thead><tbody>" +
         rows +
         "</tbody></table></div><p class=\"note\">Percentiles of the last process, estimated from its histogram.</p>";
}

std::string mood_class(bool good) { return good ? "<span class=\"good\">" : "<span class=\"bad\">"; }

}  // namespace

std::string table_card(const std::string& title, const std::string& note, const std::vector<std::string>& heads,
                       const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return {};
  std::string out = "<section class=\"card\"><h2>" + html(title) + "</h2><div class=\"scroll\"><table><thead><tr>";
  for (const auto& head : heads) out += "<th>" + html(head) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const auto& cell : row) out += (cell.size() > kLongCell ? "<td class=\"wrap\">" : "<td>") + cell + "</td>";
    out += "</tr>";
  }
  return out + "</tbody></table></div>" + (note.empty() ? "" : "<p class=\"note\">" + html(note) + "</p>") +
         "</section>\n";
}

std::string time_section(const Material& material) {
  const Stages& at = material.history.stages;
  const double evaluation = total(material.figures, "holdfast_stage_seconds_total", "stage", "evaluation").value_or(0);
  std::vector<Stage> stages = {{"waiting for data", at.data},  {"forward", at.forward},
                               {"backward", at.backward},      {"optimizer", at.optimizer},
                               {"checkpoints", at.checkpoint}, {"evaluation", evaluation}};
  std::erase_if(stages, [](const Stage& stage) { return !(stage.seconds > 0); });
  double sum = 0;
  for (const Stage& stage : stages) sum += stage.seconds;
  const std::string table = percentile_table(material.figures);
  if (!(sum > 0) && table.empty()) return {};
  return "<section class=\"card\"><h2>Where the time went</h2>" + (sum > 0 ? stage_bar(stages, sum) : "") + table +
         "</section>\n";
}

std::string attempt_section(const Material& material) {
  const auto& attempts = material.history.attempts;
  const std::string state = verdict_of(material).word;
  std::vector<std::vector<std::string>> rows;
  for (const Attempt& attempt : attempts.items()) {
    const bool last = &attempt == &attempts.items().back();
    std::string ending = attempt.exit_code ? attempt.reason + " (exit " + std::to_string(*attempt.exit_code) + ")"
                         : last            ? state
                                           : "left no word: killed";
    const bool good =
        attempt.exit_code ? *attempt.exit_code == 0 || *attempt.exit_code == 75 : last && state == "running";
    const std::int64_t span = attempt.begun && attempt.last ? *attempt.last - *attempt.begun : 0;
    rows.push_back({count(attempt.number), attempt.from.empty() ? "the beginning" : html(attempt.from),
                    count(attempt.first_update) + " to " + count(attempt.last_update),
                    html(base::human_duration(static_cast<double>(std::max<std::int64_t>(0, span)))),
                    mood_class(good) + html(ending) + "</span>"});
  }
  return table_card("Attempts", shown_of(rows.size(), attempts.total(), "attempts"),
                    {"attempt", "went on from", "updates", "at work", "how it ended"}, rows);
}

std::string checkpoint_section(const Material& material) {
  const auto& checkpoints = material.history.checkpoints;
  std::vector<std::vector<std::string>> rows;
  for (const Checkpoint& saved : checkpoints.items())
    rows.push_back({count(saved.update), html(saved.reason), html(quantity(saved.seconds, Unit::kSeconds)),
                    saved.ok ? "<code>" + html(saved.name) + "</code>" : mood_class(false) + "not written</span>",
                    html(clock_text(saved.time))});
  std::reverse(rows.begin(), rows.end());
  return table_card(
      "Checkpoints",
      shown_of(rows.size(), checkpoints.total(), "checkpoints") + " Retention may have removed older ones since.",
      {"update", "reason", "time to write", "folder", "at"}, rows);
}

std::string happening_section(const Material& material) {
  const auto& happenings = material.history.happenings;
  std::vector<std::vector<std::string>> rows;
  for (const Happening& happening : happenings.items())
    rows.push_back({html(clock_text(happening.time)), count(happening.attempt), count(happening.update),
                    "<b class=\"event\">" + html(happening.event, 40) + "</b>", html(happening.text, 240)});
  return table_card("Events", shown_of(rows.size(), happenings.total(), "events"),
                    {"at", "attempt", "update", "event", "what"}, rows);
}

std::string sample_section(const Material& material) {
  const auto& samples = material.history.samples;
  std::vector<std::vector<std::string>> rows;
  for (const SkippedSample& sample : samples.items())
    rows.push_back({count(sample.index), html(sample.source), count(sample.epoch), html(sample.reason)});
  const std::int64_t all = std::max(samples.total(), material.status ? material.status->integer("skipped_samples") : 0);
  return table_card("Skipped samples", shown_of(rows.size(), all, "skipped samples"),
                    {"sample", "source", "epoch", "why"}, rows);
}

}  // namespace holdfast::report
