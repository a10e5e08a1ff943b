// The checks as a table for people and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "supervise/checkup.hpp"

namespace holdfast::supervise {

std::string_view grade_name(Grade grade) {
  return grade == Grade::kOk ? "ok" : grade == Grade::kWarning ? "warning" : "fault";
}

std::string checkup_text(const std::vector<Check>& checks) {
  std::size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.name.size());
  std::string text;
  for (const Check& check : checks) {
    const std::string grade(grade_name(check.grade));
    text += grade + std::string(9 - grade.size(), ' ') + check.name + std::string(width - check.name.size() + 2, ' ') +
            base::terminal_safe_line(check.reason) + "\n";
    if (!check.remedy.empty())
      text += std::string(9 + width + 2, ' ') + "do: " + base::terminal_safe_line(check.remedy) + "\n";
  }
  return text;
}

std::string checkup_json(const std::vector<Check>& checks) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Check& check : checks)
    list.push_back(
        {{"name", check.name}, {"grade", grade_name(check.grade)}, {"reason", check.reason}, {"remedy", check.remedy}});
  const Json object = {{"fault", has_fault(checks)}, {"checks", list}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::supervise
