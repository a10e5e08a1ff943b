// Sizes first, then bytes against hashes, then meaning against the digest.
#include "checkpoint/loading.hpp"

#include <algorithm>
#include <filesystem>

#include "base/io_error.hpp"
#include "base/text.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/json.hpp"
#include "checkpoint/shelf.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

[[noreturn]] void damaged(const std::string& where, const std::string& what) {
  throw Error(ExitCode::kMissingInput, "checkpoint.damaged", where, what,
              "the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy");
}

void check_size(const base::Folder& folder, std::size_t file, const Manifest& manifest) {
  const std::uint64_t size = folder.open_file(kFiles[file]).size;
  if (size != manifest.files[file].size)
    damaged(folder.path_of(kFiles[file]), "the file has " + std::to_string(size) + " bytes, but its manifest says " +
                                              std::to_string(manifest.files[file].size));
}

void check_hash(const base::Folder& folder, std::size_t file, const Manifest& manifest, const std::string& hash) {
  if (hash != manifest.files[file].hash)
    damaged(folder.path_of(kFiles[file]),
            "the file's bytes hash to " + hash + ", but its manifest says " + manifest.files[file].hash);
}

/// The counters stand twice: whoever changed one of them by hand is told.
void check_counters(const std::string& where, const nlohmann::json& progress, const Counters& counters) {
  for (const auto& [name, told] : {std::pair{"update", counters.update}, std::pair{"epoch", counters.epoch},
                                   std::pair{"samples_seen", counters.samples_seen}}) {
    const auto found = progress.find(name);
    if (found == progress.end() || *found == told) continue;
    damaged(where, "progress." + std::string(name) + " is " + base::shortened(found->dump(-1, ' ', true)) +
                       ", but the manifest says " + std::to_string(told));
  }
}

void read_state_json(const base::Folder& folder, const Manifest& manifest, base::StateView& state) {
  const std::string text = folder.read(kFiles[2], kLargestState);
  check_hash(folder, 2, manifest, hash_of(text));
  const std::string where = folder.path_of(kFiles[2]);
  const nlohmann::json object = foreign_json(text, where);
  const auto part = [&](const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_object()) damaged(where, std::string("no object '") + name + "'");
    return found->dump();
  };
  state.progress_json = part("progress");
  state.identity_json = part("identity");
  state.extra_json = part("extra");
  check_counters(where, object["progress"], manifest.counters);
}

/// Tells what is odd but harmless: strangers, a `latest` that leads nowhere.
void tell_oddities(const base::Folder& folder, const Shelf& shelf,
                   const std::function<void(const std::string&)>& told) {
  if (!shelf.strangers.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : shelf.strangers) names.push_back("'" + base::terminal_safe_line(name) + "'");
    if (names.size() > 10) {
      const std::string more = "and " + std::to_string(names.size() - 10) + " more";
      names.resize(10);
      names.push_back(more);
    }
    told(folder.path() + ": ignored what is no checkpoint: " + base::join(names, ", "));
  }
  const auto kind = folder.kind_of(kLatest);
  if (!kind) {
    if (!shelf.candidates.empty())
      told(folder.path_of(kLatest) + ": is not there; the newest checkpoint is found without it");
    return;
  }
  const auto pointer = read_pointer(folder, kLatest);
  if (!pointer) {
    told(folder.path_of(kLatest) + ": is not a link; the newest checkpoint is found without it");
    return;
  }
  const std::string& target = *pointer;
  const bool known = std::any_of(shelf.candidates.begin(), shelf.candidates.end(),
                                 [&](const Candidate& c) { return c.name == target; });
  if (!known)
    told(folder.path_of(kLatest) + ": points to '" + base::terminal_safe_line(target) +
         "', which is no checkpoint here; the newest one is found without it");
}

[[noreturn]] void none_readable(const base::Folder& folder, const std::vector<std::string>& faults) {
  throw Error(ExitCode::kMissingInput, "checkpoint.none_readable", folder.path(),
              "none of " + std::to_string(faults.size()) + " checkpoints can be read:\n  " + base::join(faults, "\n  "),
              "restore one from a copy, or start from nothing with --new");
}

}  // namespace

Verified read_checkpoint(const base::Folder& folder) {
  Verified result;
  Manifest& manifest = result.manifest;
  manifest = parse_manifest(folder.read("manifest.json", kLargestManifest), folder.path_of("manifest.json"));
  for (std::size_t i = 0; i < kFiles.size(); ++i) check_size(folder, i, manifest);

  Loaded& loaded = result.loaded;
  TensorFile model = read_tensor_file(folder, kFiles[0]);
  check_hash(folder, 0, manifest, model.written.hash);
  TensorFile optimizer = read_tensor_file(folder, kFiles[1]);
  check_hash(folder, 1, manifest, optimizer.written.hash);
  read_state_json(folder, manifest, loaded.state);
  loaded.path = folder.path();
  loaded.counters = manifest.counters;
  loaded.notes = manifest.notes;
  loaded.state.model = std::move(model.tensors);
  loaded.state.optimizer = std::move(optimizer.tensors);
  loaded.storage = std::make_shared<std::pair<std::shared_ptr<std::byte>, std::shared_ptr<std::byte>>>(
      std::move(model.storage), std::move(optimizer.storage));
  loaded.digest = state_digest(loaded.state, loaded.counters);
  if (loaded.digest != manifest.digest)
    damaged(folder.path(), "the state's digest is " + loaded.digest + ", but its manifest says " + manifest.digest);
  return result;
}

namespace {

/// The checkpoint, unless it is damaged or refused: then `fault` says why.
std::optional<Loaded> load_candidate(const base::Folder& folder, const Candidate& candidate, const std::string& run_id,
                                     const Store::Accept& accept, std::string& fault) {
  fault = candidate.fault;
  if (!candidate.manifest) return std::nullopt;
  if (candidate.manifest->run_id != run_id) {
    fault = folder.path_of(candidate.name) + "/" + kManifest + ": the checkpoint is of the run '" +
            base::terminal_safe_line(base::shortened(candidate.manifest->run_id)) + "', and this is '" + run_id + "'";
    return std::nullopt;
  }
  std::optional<Loaded> loaded;
  try {
    loaded = read_checkpoint(folder.open_below(candidate.name)).loaded;
  } catch (const Error& error) {
    if (says_nothing(error)) throw;
    fault = one_line(error);
    return std::nullopt;
  }
  try {
    if (accept) accept(*loaded);
    return loaded;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kMissingInput) throw;
    fault = one_line(error);
    return std::nullopt;
  }
}

}  // namespace

std::optional<Loaded> load_newest(const base::Folder& folder, const std::string& run_id, const Store::Told& told,
                                  const Store::Accept& accept) {
  const Shelf shelf = read_shelf(folder);
  tell_oddities(folder, shelf, told);
  std::vector<std::string> faults;
  for (const Candidate& candidate : shelf.candidates) {
    // Going on from an older one would train again what the newer holdfast has done, and then remove its work.
    if (candidate.newer) throw *candidate.newer;
    std::string fault;
    if (auto loaded = load_candidate(folder, candidate, run_id, accept, fault)) {
      for (const std::string& note : loaded->notes) told(note);
      return loaded;
    }
    faults.push_back(fault);
    const bool another = faults.size() < shelf.candidates.size();
    told(fault + (another ? "; trying the next older checkpoint" : ""));
  }
  if (faults.empty()) return std::nullopt;
  none_readable(folder, faults);
}

Loaded Store::load(const std::string& path) { return read_checkpoint(base::Folder::open(path)).loaded; }

Inspection Store::inspect(const std::string& path) {
  Verified verified = read_checkpoint(base::Folder::open(path));
  Inspection inspection;
  inspection.path = verified.loaded.path;
  inspection.digest = verified.loaded.digest;
  inspection.run_id = verified.manifest.run_id;
  inspection.reason = verified.manifest.reason;
  inspection.saved_at = verified.manifest.saved_at;
  inspection.attempt = verified.manifest.attempt;
  inspection.best = verified.manifest.best;
  inspection.counters = verified.loaded.counters;
  inspection.notes = verified.loaded.notes;
  base::StateView& state = verified.loaded.state;
  inspection.progress_json = state.progress_json;
  inspection.identity_json = state.identity_json;
  inspection.extra_json = state.extra_json;
  for (auto& [file, tensors] : {std::pair{kFiles[0], &state.model}, std::pair{kFiles[1], &state.optimizer}}) {
    std::sort(tensors->begin(), tensors->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const base::TensorView& tensor : *tensors)
      inspection.tensors.push_back({tensor.name, file, tensor.dtype, tensor.shape, hash_of(tensor.bytes)});
  }
  return inspection;
}

Loaded read_safetensors(const std::string& path) {
  // Resolved first: the user may well name a link, but what is opened in the end is a regular file.
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  if (failure) throw base::io_error(base::Doing::kRead, path, failure.value());
  const base::Folder folder = base::Folder::open(real.parent_path().string());
  TensorFile file = read_tensor_file(folder, real.filename().string());
  Loaded loaded;
  loaded.path = base::absolute_path(path);
  loaded.state.model = std::move(file.tensors);
  loaded.storage = std::move(file.storage);
  loaded.digest = tensors_digest(loaded.state.model);
  return loaded;
}

}  // namespace holdfast::checkpoint
