// Strings that mean something outside the recipe: ${NAME} references and paths. Expanded values go to the program only.
#include <filesystem>
#include <vector>

#include "base/text.hpp"
#include "spec/check.hpp"

namespace holdfast::spec {
namespace {

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  return !name.empty() && kLetters.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
             std::string_view::npos;
}

struct Replaced {
  std::string text;
  std::string reason, problem, hint;  ///< of the first fault
};

/// Replaces ${NAME}; "$${" stands for "${" itself. A "$" before anything else is just a "$".
Replaced replace(std::string_view text, const Environment& environment) {
  Replaced out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 3) == "$${") {
      out.text += "${";
      at += 3;
    } else if (text.substr(at, 2) == "${") {
      const std::size_t end = text.find('}', at);
      const std::string_view name =
          end == std::string_view::npos ? std::string_view{} : text.substr(at + 2, end - at - 2);
      if (!is_variable_name(name))
        return {{},
                "recipe.bad_reference",
                "holds a '${' that begins no reference",
                "write ${NAME} for a variable, $${ for the two characters"};
      const std::optional<std::string> value = environment ? environment(name) : std::nullopt;
      if (!value)
        return {{},
                "recipe.unset_variable",
                "names the environment variable '" + std::string(name) + "', which is not set",
                "export " + std::string(name) + ", or write the value"};
      out.text += *value;
      at = end + 1;
    } else {
      out.text += text[at++];
    }
  }
  return out;
}

}  // namespace

std::string escape_references(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "${") out += '$';
    out += text[at];
  }
  return out;
}

std::optional<Checker::Text> Checker::expand(const Value& value, const std::string& name) {
  if (value.type != Value::Type::kString) {
    wrong_type(value, name, "a string");
    return std::nullopt;
  }
  Replaced replaced = replace(value.text, environment_);
  if (!replaced.reason.empty()) {
    report_.add(value.place, replaced.reason, "'" + name + "' " + replaced.problem, replaced.hint);
    return std::nullopt;
  }
  return Text{std::move(replaced.text), value.text};
}

std::optional<Checker::Text> Checker::path(const Value& value, const std::string& name) {
  std::optional<Text> text = expand(value, name);
  if (!text) return std::nullopt;
  std::string problem, hint;
  if (text->expanded.empty()) {
    problem = "is empty";
  } else if (text->expanded.find('\0') != std::string::npos) {
    problem = "holds a NUL character";
  } else if (base::valid_utf8(text->expanded) != text->expanded) {
    problem = "holds bytes that are not UTF-8, which no recipe can hold";
    hint = "rename the file or folder";
  } else if (base::terminal_safe_line(text->expanded) != text->expanded) {
    problem = "holds a control character";
    hint = "rename the file or folder";
  } else if (text->expanded == "~" || text->expanded.substr(0, 2) == "~/") {
    problem = "begins with '~', which only a shell replaces";
    hint = "write ${HOME} instead of ~";
  }
  if (!problem.empty()) {
    report_.add(value.place, "recipe.bad_path",
                "'" + name + "' must be a path: " + describe_value(value) + " " + problem, hint);
    return std::nullopt;
  }
  const std::string& folder = value.place.override_text.empty() ? folders_.recipe : folders_.working;
  const bool has_references = text->expanded != text->raw;
  const bool is_absolute = text->expanded.front() == '/';
  if (!has_references) {
    text->raw = escape_references(absolute_path(folder, text->expanded));
  } else if (!is_absolute) {
    text->raw = escape_references(folder) + "/" + text->raw;
  }
  text->expanded = absolute_path(folder, text->expanded);
  if (!is_absolute && base::terminal_safe_line(folder) != folder) {
    report_.add(value.place, "recipe.bad_path",
                "'" + name + "' starts at a folder whose name holds a control character or bytes that are not UTF-8: " +
                    base::terminal_safe_line(folder),
                "rename the folder");
    return std::nullopt;
  }
  return text;
}

std::string absolute_path(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  fs::path result;
  for (const fs::path& part : fs::path(folder) / path) {
    if (part.empty() || part == ".") continue;
    std::error_code ignored;
    const bool climbs = part == ".." && result.has_relative_path() && result.filename() != "..";
    if (part == ".." && !result.has_relative_path()) continue;  // "/.." is "/"
    if (climbs && !fs::is_symlink(result, ignored)) {
      result = result.parent_path();
    } else {
      result /= part;
    }
  }
  return result.string();
}

}  // namespace holdfast::spec
