// Rendering only; reading and checking is done by Store::inspect.
#include "checkpoint/inspection.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "checkpoint/dtype.hpp"
#include "checkpoint/json.hpp"

namespace holdfast::checkpoint {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text + "  ";
}

std::int64_t bytes_of(const TensorInfo& tensor) {
  return static_cast<std::int64_t>(tensor_bytes(tensor.shape, dtype_size(tensor.dtype).value_or(0)).value_or(0));
}

}  // namespace

std::string inspection_table(const Inspection& i) {
  std::int64_t bytes = 0;
  std::size_t name_width = 4, shape_width = 5;
  for (const TensorInfo& tensor : i.tensors) {
    bytes += bytes_of(tensor);
    name_width = std::max(name_width, base::terminal_safe_line(tensor.name).size());
    shape_width = std::max(shape_width, shape_text(tensor.shape).size());
  }
  std::string text = base::terminal_safe_line(i.path) + "\n";
  const auto fact = [&](const char* name, const std::string& value) {
    text += "  " + padded(name, 12) + base::terminal_safe_line(value) + "\n";
  };
  fact("update", base::human_count(i.counters.update));
  fact("epoch", base::human_count(i.counters.epoch));
  fact("samples seen", base::human_count(i.counters.samples_seen));
  fact("digest", i.digest);
  fact("run", i.run_id + ", attempt " + std::to_string(i.attempt));
  fact("saved", i.saved_at + ", reason: " + i.reason + (i.best ? ", best so far" : ""));
  fact("tensors", base::human_count(static_cast<std::int64_t>(i.tensors.size())) + ", " + base::human_bytes(bytes));
  name_width = std::min<std::size_t>(name_width, 60);
  text += "\n" + padded("name", name_width) + padded("dtype", 5) + padded("shape", shape_width) + padded("digest", 32) +
          "file\n";
  for (const TensorInfo& tensor : i.tensors)
    text += padded(base::terminal_safe_line(tensor.name), name_width) + padded(tensor.dtype, 5) +
            padded(shape_text(tensor.shape), shape_width) + padded(tensor.digest, 32) + tensor.file + "\n";
  return text;
}

std::string inspection_json(const Inspection& i) {
  nlohmann::ordered_json object;
  object["path"] = base::valid_utf8(i.path);
  object["update"] = i.counters.update;
  object["epoch"] = i.counters.epoch;
  object["samples_seen"] = i.counters.samples_seen;
  object["digest"] = i.digest;
  object["run_id"] = i.run_id;
  object["attempt"] = i.attempt;
  object["reason"] = i.reason;
  object["best"] = i.best;
  object["saved_at"] = i.saved_at;
  object["tensors"] = nlohmann::ordered_json::array();
  for (const TensorInfo& tensor : i.tensors) {
    nlohmann::ordered_json item;
    item["name"] = tensor.name;
    item["file"] = tensor.file;
    item["dtype"] = tensor.dtype;
    item["shape"] = tensor.shape;
    item["digest"] = tensor.digest;
    object["tensors"].push_back(std::move(item));
  }
  object["progress"] = own_json(i.progress_json, "progress");
  object["identity"] = own_json(i.identity_json, "identity");
  object["extra"] = own_json(i.extra_json, "extra");
  return object.dump(2) + "\n";
}

}  // namespace holdfast::checkpoint
