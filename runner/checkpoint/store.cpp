// Saving: a temporary folder beside, everything synced, one rename, then `latest` and retention.
#include "checkpoint/store.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/clock.hpp"
#include "base/finite.hpp"
#include "base/io_error.hpp"
#include "base/process.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/json.hpp"
#include "checkpoint/loading.hpp"
#include "checkpoint/ownership.hpp"
#include "checkpoint/shelf.hpp"
#include "checkpoint/verification.hpp"

namespace holdfast::checkpoint {
namespace {

std::string state_text(const base::StateView& state) {
  nlohmann::ordered_json object;
  object["progress"] = own_json(state.progress_json, "progress");
  object["identity"] = own_json(state.identity_json, "identity");
  object["extra"] = own_json(state.extra_json, "extra");
  std::string text = object.dump(1) + "\n";
  if (text.size() > kLargestState)
    throw Error(ExitCode::kBug, "checkpoint.state_json", "",
                "the state's JSON takes " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(kLargestState) + " can be read back");
  return text;
}

/// Such a state leads nowhere, and would push out those that do.
void require_finite(const base::StateView& state, const std::string& where) {
  for (const auto& tensor : std::span(state.model).first(std::min(state.weights, state.model.size()))) {
    const auto at = base::first_not_finite(tensor.dtype, tensor.read());
    if (!at) continue;
    throw Error(ExitCode::kDiverged, std::string(base::kNotFinite), where,
                "element " + std::to_string(*at) + " of the weight '" + tensor.name +
                    "' is not a finite number, so this state is not saved",
                "the checkpoints before it stay; lower optimizer.lr or set train.clip_grad_norm, and see what "
                "[hook.divergence_guard] can do");
  }
}

WrittenFile write_text(const base::Folder& folder, const std::string& name, std::string_view text) {
  const base::File file = folder.create_file(name, 0644);
  base::write_all(folder.system(), file, folder.path_of(name), std::as_bytes(std::span(text)));
  base::sync_file(folder.system(), file, folder.path_of(name));
  return {text.size(), hash_of(text)};
}

double seconds_since(std::chrono::nanoseconds start) {
  return std::chrono::duration<double>(base::Clock::real().monotonic() - start).count();
}

/// Everything of one checkpoint, into an empty folder; the manifest last, when all else reads back.
Manifest write_checkpoint(const base::Folder& folder, const base::StateView& state, const SaveRequest& request,
                          const std::string& state_json, double& verify_seconds) {
  Manifest manifest;
  manifest.counters = request.counters;
  manifest.run_id = request.run_id;
  manifest.reason = request.reason;
  manifest.attempt = request.attempt;
  manifest.best = request.is_best;
  manifest.saved_at = base::rfc3339_utc(base::Clock::real().wall());
  manifest.digest = state_digest(state, request.counters);
  manifest.files = {write_tensor_file(folder, kFiles[0], state.model),
                    write_tensor_file(folder, kFiles[1], state.optimizer), write_text(folder, kFiles[2], state_json)};
  const auto written = base::Clock::real().monotonic();
  for (std::size_t i = 0; i < kFiles.size(); ++i) verify_written(folder, kFiles[i], manifest.files[i]);
  verify_seconds = seconds_since(written);
  verify_written(folder, kManifest, write_text(folder, kManifest, render_manifest(manifest)));
  folder.sync();
  return manifest;
}

/// A failed save leaves nothing behind; when even that fails, clean() finds it later.
void remove_quietly(const base::Folder& folder, const std::string& name) {
  try {
    folder.remove_tree(name);
  } catch (const Error&) {
    return;  // the error that led here is the one to tell
  }
}

std::int64_t total_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const WrittenFile& file : manifest.files) bytes += file.size;
  return static_cast<std::int64_t>(bytes);
}

/// Puts `temporary` in the place of `name`. Whatever instant the process dies, a whole checkpoint of this update stands
/// under a name that is looked at.
void put_in_place(const base::Folder& folder, const std::string& temporary, const std::string& name) {
  if (!folder.kind_of(name)) {
    folder.rename(temporary, name);
    folder.sync();
    return;
  }
  if (folder.system().exchange(folder.fd(), temporary.c_str(), name.c_str()) == 0) {
    folder.sync();
    remove_quietly(folder, temporary);  // now the former one
    return;
  }
  if (errno != EINVAL && errno != ENOSYS) throw base::io_error(base::Doing::kWrite, folder.path_of(name), errno);
  // A file system without exchange: the former one keeps a name that counts until the new one stands.
  const std::string aside = name + std::string(kReplaced);
  folder.remove_tree(aside);
  folder.rename(name, aside);
  folder.rename(temporary, name);
  folder.sync();
  remove_quietly(folder, aside);
}

/// ".model.safetensors.tmp-12-ab", ".status.json.new": what a rename had not yet given its name.
bool is_temporary_file(std::string_view name) {
  return name.starts_with('.') && (name.find(".tmp-") != std::string_view::npos || name.ends_with(".new"));
}

/// Without renames of folders: the name to make a checkpoint under. Where a whole one of this update stands, the new
/// one stands beside it until it is whole too.
std::string free_name(const base::Folder& folder, const std::string& name) {
  const bool taken = folder.kind_of(name) && folder.open_below(name).kind_of(kManifest);
  std::string free = taken ? name + std::string(kAgain) : name;
  folder.remove_tree(free);
  return free;
}

/// Removes one checkpoint so that its final name never stands for a part of it that counts.
void give_up(const base::Folder& folder, const std::string& name, const std::string& run_id, const Abilities& can) {
  if (!can.folder_renames) {
    folder.open_below(name).remove(kManifest);
    return folder.remove_tree(name);
  }
  const std::string gone = std::string(kTemporary) + run_id + "-" + name;
  folder.remove_tree(gone);
  folder.rename(name, gone);
  folder.remove_tree(gone);
}

}  // namespace

struct Store::Impl {
  std::string generation;
  Retention retention;
  base::FileSystem& system;
  Abilities can{};

  [[nodiscard]] std::string run_id() const { return std::filesystem::path(generation).filename().string(); }

  /// After the checkpoint stands nothing may fail the save: what goes wrong is noted.
  template <class Step>
  static void noting(std::vector<std::string>& notes, Step&& step) {
    try {
      step();
    } catch (const Error& error) {
      notes.push_back(one_line(error));
    }
  }

  void retain(const base::Folder& folder, const SaveRequest& request, const std::string& saved,
              std::vector<std::string>& notes) const {
    std::vector<std::string> gone;
    noting(notes, [&] { gone = expendable(read_shelf(folder).candidates, retention, request.run_id, saved); });
    for (const std::string& name : gone) noting(notes, [&] { give_up(folder, name, request.run_id, can); });
    if (!gone.empty()) noting(notes, [&] { folder.sync(); });
  }

  /// What follows once the checkpoint stands.
  void finish(const base::Folder& folder, const SaveRequest& request, const std::string& name,
              std::vector<std::string>& notes) const {
    if (!can.folder_renames) {  // the former one of this update has had its day
      const std::string plain = checkpoint_name(request.counters.update, request.suffix);
      const std::string former = name == plain ? plain + std::string(kAgain) : plain;
      noting(notes, [&] {
        if (folder.kind_of(former)) give_up(folder, former, request.run_id, can);
      });
    }
    noting(notes, [&] { write_pointer(folder, kLatest, name, can); });
    retain(folder, request, name, notes);
  }

  void finish_retention(const base::Folder& folder, const std::string& from, std::vector<std::string>& notes) const {
    const std::vector<Candidate> candidates = read_shelf(folder).candidates;
    const auto at = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.name == from; });
    if (at == candidates.end()) return;
    const std::vector<Candidate> past(at, candidates.end());  // newest first: what is older follows
    const std::vector<std::string> gone = expendable(past, retention, run_id(), from);
    for (const std::string& name : gone) noting(notes, [&] { give_up(folder, name, run_id(), can); });
    if (!gone.empty()) folder.sync();
  }
};

Store::Store(std::string generation, Retention retention, base::FileSystem& system)
    : impl_(new Impl{base::absolute_path(generation), retention, system}) {}
Store::~Store() = default;

void Store::obey(const Abilities& abilities) { impl_->can = abilities; }

Saved Store::save(const base::StateView& state, const SaveRequest& request) {
  const auto start = base::Clock::real().monotonic();
  const std::string name = checkpoint_name(request.counters.update, request.suffix);
  if (!update_in_name(name))
    throw Error(ExitCode::kBug, "checkpoint.name", "", "'" + name + "' cannot be the name of a checkpoint");
  require_finite(state, impl_->generation + "/checkpoints/" + name);
  const std::string state_json = state_text(state);
  const base::Folder folder = make_checkpoints(impl_->generation, impl_->system);
  const bool renames = impl_->can.folder_renames;
  const std::string made = renames ? std::string(kTemporary) + request.run_id + "-" +
                                         std::to_string(request.counters.update) + "-" + std::to_string(::getpid())
                                   : free_name(folder, name);
  // In a container every process has the same number: a killed predecessor's leftover may stand here.
  folder.remove_tree(made);
  Saved saved;
  try {
    const Manifest manifest =
        write_checkpoint(folder.make_below(made), state, request, state_json, saved.verify_seconds);
    saved.bytes = total_bytes(manifest);
    saved.digest = manifest.digest;
    if (renames) put_in_place(folder, made, name);
  } catch (...) {
    remove_quietly(folder, made);
    throw;
  }
  const std::string& final_name = renames ? name : made;
  saved.path = folder.path_of(final_name);
  impl_->finish(folder, request, final_name, saved.notes);
  saved.seconds = seconds_since(start) - saved.verify_seconds;
  return saved;
}

std::vector<std::string> Store::clean(const std::string& from) {
  std::vector<std::string> notes;
  std::error_code failure;
  if (std::filesystem::status(impl_->generation, failure).type() == std::filesystem::file_type::not_found) return notes;
  const base::Folder generation = base::Folder::open(impl_->generation, impl_->system);
  for (const base::Entry& entry : generation.entries())
    if (entry.kind != base::EntryKind::kFolder && is_temporary_file(entry.name)) generation.remove(entry.name);
  const auto checkpoints = open_checkpoints(impl_->generation, impl_->system);
  if (!checkpoints) return notes;
  const base::Folder& folder = *checkpoints;
  const std::string own = std::string(kTemporary) + impl_->run_id() + "-";
  for (const base::Entry& entry : folder.entries()) {
    if (entry.name.starts_with(own) || entry.name.starts_with("." + std::string(kLatest) + ".tmp-"))
      folder.remove_tree(entry.name);
    if (!impl_->can.folder_renames && entry.kind == base::EntryKind::kFolder && update_in_name(entry.name) &&
        !folder.open_below(entry.name).kind_of(kManifest))
      folder.remove_tree(entry.name);  // begun, and never whole
    if (!entry.name.ends_with(kReplaced) || !update_in_name(entry.name)) continue;
    const std::string name = entry.name.substr(0, entry.name.size() - kReplaced.size());
    if (folder.kind_of(name))
      folder.remove_tree(entry.name);
    else
      folder.rename(entry.name, name);
  }
  if (!from.empty()) Impl::noting(notes, [&] { impl_->finish_retention(folder, from, notes); });
  return notes;
}

std::optional<Loaded> Store::newest(const Told& told, const Accept& accept) const {
  const auto folder = open_checkpoints(impl_->generation, impl_->system);
  return folder ? load_newest(*folder, impl_->run_id(), told, accept) : std::nullopt;
}

std::string Store::newest_path(Damaged damaged) const {
  const auto folder = open_checkpoints(impl_->generation, impl_->system);
  if (!folder) return {};
  for (const Candidate& candidate : read_shelf(*folder).candidates)
    if (damaged == Damaged::kCounts || (candidate.manifest && candidate.manifest->run_id == impl_->run_id()))
      return folder->path_of(candidate.name);
  return {};
}

void write_safetensors(const std::string& path, const std::vector<base::TensorView>& tensors) {
  const std::filesystem::path absolute = base::absolute_path(path);
  const base::Folder folder = base::Folder::open(absolute.parent_path().string());
  const std::string name = absolute.filename().string();
  const std::string temporary = "." + name + ".tmp-" + std::to_string(::getpid()) + "-" + base::random_hex(8);
  try {
    write_tensor_file(folder, temporary, tensors);
    folder.rename(temporary, name);
  } catch (...) {
    remove_quietly(folder, temporary);
    throw;
  }
  folder.sync();
}

}  // namespace holdfast::checkpoint
