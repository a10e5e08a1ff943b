// The store verifies; here it only becomes text.
#include "app/front/inspection.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/io_error.hpp"
#include "base/text.hpp"
#include "checkpoint/home.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

using Json = nlohmann::ordered_json;

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const auto size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// A JSON text of the checkpoint inside ours; as a string where it does not parse.
Json embedded(const std::string& text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

}  // namespace

checkpoint::Inspection inspect_path(const std::string& path) {
  if (!exists(path) && errno != ENOENT && errno != ENOTDIR) throw base::io_error(base::Doing::kRead, path, errno);
  if (!exists(path))
    throw Error(ExitCode::kMissingInput, "inspect.absent", path, "there is no such checkpoint or run folder",
                "`holdfast status DIR` lists the runs below a folder");
  std::error_code failure;  // one checkpoint has one name, whatever link led to it
  const std::string real = std::filesystem::canonical(path, failure).string();
  if (!failure && exists(real + "/manifest.json")) return checkpoint::Store::inspect(real);
  const auto generation = checkpoint::RunHome::look(path);
  using Damaged = checkpoint::Store::Damaged;  // a damaged one is told, not passed over for an older one
  const std::string newest = generation.state == checkpoint::GenerationState::kAbsent
                                 ? std::string()
                                 : checkpoint::Store(generation.path, {}).newest_path(Damaged::kCounts);
  if (newest.empty())
    throw Error(ExitCode::kMissingInput, "inspect.no_checkpoint", path, "no checkpoint has been saved here yet",
                "`holdfast run` saves one every 10 minutes and at the end");
  return checkpoint::Store::inspect(newest);
}

std::string inspection_text(const checkpoint::Inspection& found) {
  std::string text =
      base::terminal_safe_line(found.path) + "\n  update " + std::to_string(found.counters.update) + ", epoch " +
      std::to_string(found.counters.epoch) + ", " + base::human_count(found.counters.samples_seen) +
      " samples seen\n  saved: " + base::terminal_safe_line(found.reason) + ", run " +
      base::terminal_safe_line(found.run_id) + "\n  digest " + found.digest + "\n  every checksum is right\n\n";
  std::size_t names = 6, types = 5, shapes = 5;
  for (const auto& tensor : found.tensors) {
    names = std::max(names, tensor.name.size());
    types = std::max(types, tensor.dtype.size());
    shapes = std::max(shapes, shape_text(tensor.shape).size());
  }
  const auto line = [&](const std::string& name, const std::string& type, const std::string& shape,
                        const std::string& digest, const std::string& file) {
    text += name + std::string(names - std::min(names, name.size()) + 2, ' ') + type +
            std::string(types - type.size() + 2, ' ') + shape + std::string(shapes - shape.size() + 2, ' ') + digest +
            "  " + file + "\n";
  };
  line("TENSOR", "DTYPE", "SHAPE", "DIGEST" + std::string(26, ' '), "FILE");
  for (const auto& tensor : found.tensors)
    line(base::terminal_safe_line(tensor.name), tensor.dtype, shape_text(tensor.shape), tensor.digest, tensor.file);
  return text;
}

std::string inspection_json(const checkpoint::Inspection& found) {
  Json tensors = Json::array();
  for (const auto& tensor : found.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"file", tensor.file},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"digest", tensor.digest}});
  const Json object = {{"path", found.path},
                       {"run_id", found.run_id},
                       {"reason", found.reason},
                       {"update", found.counters.update},
                       {"epoch", found.counters.epoch},
                       {"samples_seen", found.counters.samples_seen},
                       {"digest", found.digest},
                       {"tensors", tensors},
                       {"progress", embedded(found.progress_json)},
                       {"identity", embedded(found.identity_json)}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::app
