// A first pass with a SAX handler that builds nothing, then the ordinary parser.
#include "checkpoint/json.hpp"

#include <set>
#include <vector>

#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

using nlohmann::json;

class Checker final : public nlohmann::json_sax<json> {
 public:
  std::string fault;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return value() && open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    fault = "the key " + base::json_string(name) + " stands twice in one object";
    return false;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    fault = "not valid JSON at byte " + std::to_string(at);
    return false;
  }

 private:
  bool value() {
    if (!keys_.empty()) return true;
    fault = "a JSON object is expected";
    return false;
  }
  bool open() {
    keys_.emplace_back();
    if (keys_.size() <= kJsonDepth) return true;
    fault = "nested deeper than " + std::to_string(kJsonDepth) + " levels";
    return false;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;  // one set an open object or array
};

/// Empty when the text may be parsed.
std::string fault_of(std::string_view text) {
  Checker checker;
  if (!json::sax_parse(text, &checker) && checker.fault.empty()) return "not valid JSON";
  return checker.fault;
}

}  // namespace

json foreign_json(std::string_view text, const std::string& where) {
  const std::string fault = fault_of(text);
  if (!fault.empty())
    throw Error(ExitCode::kMissingInput, "checkpoint.json", where, fault,
                "this is not what holdfast wrote: restore the file from a copy");
  return json::parse(text);
}

json own_json(std::string_view text, const std::string& part) {
  if (text.empty()) return json::object();
  const std::string fault = fault_of(text);
  if (!fault.empty()) throw Error(ExitCode::kBug, "checkpoint.state_json", "", "the state's " + part + ": " + fault);
  return json::parse(text);
}

}  // namespace holdfast::checkpoint
