// Reading a safetensors header without building a tree: a SAX handler fills the tensors directly.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text.hpp"
#include "checkpoint/dtype.hpp"
#include "checkpoint/safetensors.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

/// Levels: 1 the file's object, 2 a tensor or __metadata__, 3 a tensor's shape or offsets.
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<HeaderTensor> tensors;
  std::string fault;

  bool null() override { return unexpected(); }
  bool boolean(bool) override { return unexpected(); }
  bool number_float(number_float_t, const string_t&) override { return unexpected(); }
  bool binary(binary_t&) override { return unexpected(); }
  bool number_integer(number_integer_t) override { return fail(place() + " is negative"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (level_ != 3) return unexpected();
    if (number > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return fail(place() + " exceeds 2^63 - 1");
    if (field_ == "shape") {
      if (tensors.back().shape.size() == kHighestRank)
        return fail(place() + " has more than " + std::to_string(kHighestRank) + " dimensions");
      tensors.back().shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (offsets_ == 2) return fail(place() + " has more than two numbers");
    (offsets_++ == 0 ? tensors.back().begin : tensors.back().end) = number;
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == 2 && in_metadata_) return true;
    if (level_ != 2 || field_ != "dtype") return unexpected();
    tensors.back().dtype = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ > 1) return unexpected();
    if (++level_ == 1 || in_metadata_) return true;
    tensors.emplace_back();
    tensors.back().name = name_;
    fields_.clear();
    offsets_ = 0;
    return true;
  }

  bool key(string_t& text) override {
    if (level_ == 1) {
      name_ = text;
      in_metadata_ = name_ == "__metadata__";
      return names_.insert(name_).second || fail("the name " + base::json_string(name_) + " stands twice");
    }
    field_ = text;
    if (in_metadata_) return true;
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      return fail(place() + " is no field of the format");
    return fields_.insert(field_).second || fail(place() + " stands twice");
  }

  bool end_object() override {
    if (level_-- == 1 || in_metadata_) return true;
    for (const char* needed : {"dtype", "shape", "data_offsets"})
      if (!fields_.contains(needed)) return fail("tensor " + base::json_string(name_) + ": no field '" + needed + "'");
    return offsets_ == 2 || fail("tensor " + base::json_string(name_) + ": data_offsets needs two numbers");
  }

  bool start_array(std::size_t) override {
    if (level_ != 2 || in_metadata_ || field_ == "dtype") return unexpected();
    ++level_;
    return true;
  }
  bool end_array() override {
    --level_;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return fail("not valid JSON at byte " + std::to_string(at));
  }

 private:
  bool fail(std::string what) {
    fault = std::move(what);
    return false;
  }
  [[nodiscard]] std::string place() const {
    return level_ < 2 ? base::json_string(name_) : "tensor " + base::json_string(name_) + ": '" + field_ + "'";
  }
  bool unexpected() {
    return fail(level_ == 0 ? "a JSON object is expected" : place() + " has a value of the wrong type");
  }

  int level_ = 0, offsets_ = 0;
  bool in_metadata_ = false;
  std::string name_, field_;
  std::unordered_set<std::string> names_, fields_;
};

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ExitCode::kMissingInput, "safetensors.header", where, base::terminal_safe_line(what),
              "the file is damaged or not a safetensors file: restore it from a copy");
}

void check_tensor(const HeaderTensor& tensor, const std::string& where) {
  const std::string who = "tensor " + base::json_string(tensor.name) + ": ";
  const auto element = dtype_size(tensor.dtype);
  if (!element)
    refuse(where, who + "dtype " + base::json_string(tensor.dtype) + " is not among " + std::string(dtype_names()));
  const auto bytes = tensor_bytes(tensor.shape, *element);
  if (!bytes) refuse(where, who + "shape " + shape_text(tensor.shape) + " overflows");
  if (tensor.begin > tensor.end || tensor.end - tensor.begin != *bytes)
    refuse(where, who + tensor.dtype + " of shape " + shape_text(tensor.shape) + " takes " + std::to_string(*bytes) +
                      " bytes, but its offsets are " + std::to_string(tensor.begin) + " to " +
                      std::to_string(tensor.end));
}

}  // namespace

std::vector<HeaderTensor> parse_header(std::string_view header, std::uint64_t data_size, const std::string& where) {
  HeaderHandler handler;
  if (!header.starts_with('{')) refuse(where, "the header does not begin with '{'");
  if (!nlohmann::json::sax_parse(header, &handler))
    refuse(where, handler.fault.empty() ? "the header is not valid JSON" : handler.fault);
  auto tensors = std::move(handler.tensors);
  for (const HeaderTensor& tensor : tensors) check_tensor(tensor, where);
  std::sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t covered = 0;
  for (const HeaderTensor& tensor : tensors) {
    if (tensor.begin != covered)
      refuse(where, "tensor " + base::json_string(tensor.name) + " begins at byte " + std::to_string(tensor.begin) +
                        " of the data where " + std::to_string(covered) + " is due: gap or overlap");
    covered = tensor.end;
  }
  if (covered != data_size)
    refuse(where, "the tensors cover " + std::to_string(covered) + " bytes of data, but the file has " +
                      std::to_string(data_size));
  return tensors;
}

}  // namespace holdfast::checkpoint
