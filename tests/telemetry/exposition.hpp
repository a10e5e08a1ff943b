// A strict reader of the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats): throws at the
// first thing that the format does not allow.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::test {

using LabelMap = std::map<std::string, std::string>;

struct Exposition {
  struct Family {
    std::string type, help;
    std::map<LabelMap, double> series;  ///< of histograms: _sum under the plain name, with label "part" = suffix
  };
  std::map<std::string, Family> families;

  [[nodiscard]] double value(const std::string& name, const LabelMap& labels) const {
    return families.at(name).series.at(labels);
  }
  /// The series without regard to `run`, for families with one series.
  [[nodiscard]] double only(const std::string& name) const {
    const auto& series = families.at(name).series;
    if (series.size() != 1) throw std::runtime_error(name + " has " + std::to_string(series.size()) + " series");
    return series.begin()->second;
  }
};

class ExpositionReader {
 public:
  explicit ExpositionReader(std::string_view text) : text_(text) {}

  Exposition read() {
    if (!text_.empty() && text_.back() != '\n') fail("the last line does not end");
    while (!text_.empty()) {
      const auto end = text_.find('\n');
      line(text_.substr(0, end));
      text_.remove_prefix(end + 1);
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(why + " in: " + std::string(line_)); }

  static bool name_character(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (!first && c >= '0' && c <= '9');
  }

  std::string name() {
    std::size_t length = 0;
    while (length < rest_.size() && name_character(rest_[length], length == 0)) ++length;
    if (length == 0) fail("a name is missing");
    std::string found(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return found;
  }

  void expect(std::string_view text) {
    if (!rest_.starts_with(text)) fail("'" + std::string(text) + "' is missing");
    rest_.remove_prefix(text.size());
  }

  std::string quoted() {
    expect("\"");
    std::string value;
    while (true) {
      if (rest_.empty()) fail("a label's value does not end");
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      const char escaped = rest_.empty() ? '\0' : rest_.front();
      if (escaped != '\\' && escaped != '"' && escaped != 'n') fail("an unknown escape");
      value += escaped == 'n' ? '\n' : escaped;
      rest_.remove_prefix(1);
    }
  }

  LabelMap labels() {
    LabelMap found;
    if (!rest_.starts_with("{")) return found;
    expect("{");
    while (!rest_.starts_with("}")) {
      const std::string label = name();
      expect("=");
      if (!found.emplace(label, quoted()).second) fail("a label twice");
      if (!rest_.starts_with("}")) expect(",");
    }
    expect("}");
    return found;
  }

  double number(std::string_view text) const {
    if (text == "+Inf") return INFINITY;
    if (text == "-Inf") return -INFINITY;
    if (text == "NaN" || text == "Nan") return NAN;
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) fail("no number");
    return value;
  }

  void comment() {
    const bool help = rest_.starts_with("HELP ");
    if (!help) expect("TYPE ");
    if (help) expect("HELP ");
    const std::string of = name();
    expect(" ");
    auto& family = out_.families[of];
    auto& place = help ? family.help : family.type;
    if (!place.empty()) fail("HELP or TYPE twice");
    if (!family.series.empty()) fail("HELP or TYPE after a sample");
    place = rest_;
    current_ = of;
  }

  void sample() {
    std::string of = name(), part;
    if (of != current_) {
      if (!of.starts_with(current_) || out_.families[current_].type != "histogram") fail("a sample outside its family");
      part = of.substr(current_.size());
      if (part != "_bucket" && part != "_sum" && part != "_count") fail("no part of a histogram");
    }
    LabelMap with = labels();
    if (!part.empty()) with["part"] = part;
    expect(" ");
    if (!out_.families[current_].series.emplace(with, number(rest_)).second) fail("a series twice");
  }

  void line(std::string_view text) {
    line_ = rest_ = text;
    if (rest_.starts_with("# ")) {
      expect("# ");
      comment();
    } else {
      sample();
    }
  }

  std::string_view text_, line_, rest_;
  std::string current_;
  Exposition out_;
};

inline Exposition read_exposition(std::string_view text) { return ExpositionReader(text).read(); }

}  // namespace holdfast::test
