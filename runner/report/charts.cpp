// Which curves there are, and what is marked on them.
#include <algorithm>

#include "base/text.hpp"
#include "report/chart.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"

namespace holdfast::report {
namespace {

std::vector<ChartMark> attempt_marks(const History& history) {
  std::vector<ChartMark> marks;
  const auto& attempts = history.attempts.items();
  for (const Attempt& attempt : attempts) {
    if (attempt.from.empty() && &attempt == &attempts.front()) continue;
    marks.push_back({static_cast<double>(attempt.first_update), "attempt", std::to_string(attempt.number),
                     "attempt " + std::to_string(attempt.number) + " goes on from " +
                         (attempt.from.empty() ? std::string("an unknown place") : attempt.from)});
  }
  return marks;
}

std::vector<ChartMark> memory_marks(const History& history) {
  std::vector<ChartMark> marks;
  for (const Happening& happening : history.happenings.items()) {
    const bool plan = happening.event == "plan_change";
    if (happening.event != "oom" && !plan) continue;
    marks.push_back({static_cast<double>(happening.update), plan ? "plan" : "oom", "",
                     "update " + base::human_count(happening.update) + ": " + happening.text});
  }
  return marks;
}

void append(std::vector<ChartMark>& to, const std::vector<ChartMark>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Chart loss_chart(const History& history, const std::vector<ChartMark>& attempts) {
  Chart chart;
  chart.title = "Loss";
  chart.wide = true;
  chart.curves.push_back({"training", &history.loss, Look::kFirst, false, true});
  if (const auto eval = history.scores.find("loss"); eval != history.scores.end())
    chart.curves.push_back({"evaluation", &eval->second, Look::kSecond, true});
  chart.marks = attempts;
  append(chart.marks, memory_marks(history));
  for (const double update : history.dropped.items())
    chart.marks.push_back({update, "dropped", "", "a window was dropped at update " + quantity(update, Unit::kNumber)});
  return chart;
}

Chart memory_chart(const History& history, const std::vector<ChartMark>& attempts) {
  Chart chart;
  chart.title = "Device memory";
  chart.unit = Unit::kBytes;
  chart.from_zero = true;
  chart.curves = {{"allocated", &history.allocated, Look::kFirst}, {"peak", &history.peak, Look::kSecond}};
  if (history.budget && *history.budget > 0) chart.limit = history.budget;
  chart.limit_name = "budget";
  chart.marks = attempts;
  append(chart.marks, memory_marks(history));
  return chart;
}

Chart plain_chart(const std::string& title, const Series& series, Unit unit, Look look, bool from_zero,
                  const std::vector<ChartMark>& marks) {
  Chart chart;
  chart.title = title;
  chart.unit = unit;
  chart.from_zero = from_zero;
  chart.curves.push_back({title, &series, look, false, true});
  chart.marks = marks;
  return chart;
}

Chart time_chart(const History& history, const std::vector<ChartMark>& marks) {
  Chart chart = plain_chart("Time of an update", history.update_time, Unit::kSeconds, Look::kFirst, true, marks);
  chart.curves = {{"mean", &history.update_time, Look::kFirst}, {"slowest", &history.slowest, Look::kSecond}};
  return chart;
}

}  // namespace

std::string chart_section(const Material& material) {
  const History& history = material.history;
  const auto attempts = attempt_marks(history);
  const double last = std::max(1.0, history.highest_update);
  std::string out = draw(loss_chart(history, attempts), 0, last);
  for (const auto& [name, series] : history.scores) {
    if (name == "loss" && !history.loss.empty()) continue;
    Chart chart = plain_chart("Evaluation: " + name, series, Unit::kNumber, Look::kSecond, false, attempts);
    chart.curves[0].name = name;
    chart.curves[0].dots = true;
    chart.curves[0].smooth = false;
    out += draw(chart, 0, last);
  }
  Chart rate = plain_chart("Learning rate", history.learning_rate, Unit::kNumber, Look::kThird, true, attempts);
  rate.curves[0].smooth = false;
  out += draw(rate, 0, last);
  out += draw(plain_chart("Gradient norm", history.grad_norm, Unit::kNumber, Look::kFirst, false, attempts), 0, last);
  out += draw(plain_chart("Updates a second", history.rate, Unit::kPerSecond, Look::kThird, true, attempts), 0, last);
  out += draw(time_chart(history, attempts), 0, last);
  out += draw(plain_chart("Loss scale", history.loss_scale, Unit::kNumber, Look::kSecond, false, attempts), 0, last);
  out += draw(memory_chart(history, attempts), 0, last);
  Chart process = plain_chart("Process memory", history.resident, Unit::kBytes, Look::kThird, true, attempts);
  process.curves[0].smooth = false;
  out += draw(process, 0, last);
  if (out.empty())
    return "<section class=\"card\"><h2>No curves</h2><p class=\"note\">There is no update event in events.jsonl "
           "yet.</p></section>\n";
  return "<div class=\"charts\">" + out + "</div>\n";
}

}  // namespace holdfast::report
