// Owning a run home: checks, the lock, new generations, pruning.
#include "checkpoint/home.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/atomic_file.hpp"
#include "base/io_error.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "checkpoint/generation.hpp"
#include "checkpoint/ownership.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kRemoved = ".removed-";
constexpr const char* kFresh = ".new-";
constexpr int kLockTries = 3;
constexpr useconds_t kLockPause = 10'000;

/// At the start a full or unwritable disk means that output cannot be created, whichever call found out.
Error at_start(const Error& error) {
  const ExitCode code = error.code() == ExitCode::kIoError ? ExitCode::kCannotCreate : error.code();
  return Error(code, error.reason(), error.where(), error.message(), error.hint());
}

std::string holder_of(int fd) {
  std::string text(64, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t digits = text.find_first_not_of("0123456789");
  text.resize(digits == std::string::npos ? text.size() : digits);
  return text.empty() ? "another process" : "process " + text;
}

void write_holder(const base::Folder& home, const base::File& lock) {
  const std::string text = std::to_string(::getpid()) + " " + base::host_name() + "\n";
  if (::ftruncate(lock.fd(), 0) != 0) throw base::io_error(base::Doing::kCreate, home.path_of(kLock), errno);
  base::write_all(home.system(), lock, home.path_of(kLock), std::as_bytes(std::span(text)));
}

base::File open_lock(const base::Folder& home) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  base::File lock(home.system().openat(home.fd(), kLock, kFlags, 0644));
  if (lock.fd() < 0) throw base::io_error(base::Doing::kCreate, home.path_of(kLock), errno);
  for (int tries = kLockTries; ::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw base::io_error(base::Doing::kCreate, home.path_of(kLock), errno);
    if (--tries > 0) {  // holder() of another process looks for an instant
      ::usleep(kLockPause);
      continue;
    }
    throw Error(ExitCode::kStoppedAfterSave, "home.locked", base::terminal_safe_line(home.path()),
                holder_of(lock.fd()) + " works in this run home",
                "wait for it, stop it, or use --on-locked wait or skip");
  }
  return lock;
}

/// True while the name still leads to the file that we locked; somebody may have removed it between open and flock.
bool still_there(const base::Folder& home, const base::File& lock) {
  struct stat ours {
  }, named{};
  return ::fstat(lock.fd(), &ours) == 0 && ::fstatat(home.fd(), kLock, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

base::File take_lock(const base::Folder& home) {
  while (true) {
    base::File lock = open_lock(home);
    if (!still_there(home, lock)) continue;
    write_holder(home, lock);
    return lock;
  }
}

}  // namespace

struct RunHome::Impl {
  base::Folder folder;
  base::File lock;
  Abilities can{};

  /// What a killed predecessor had begun: half-made or half-removed generations, half-moved links, and generations that
  /// were left before anything was written.
  void remove_leftovers() const {
    for (const base::Entry& entry : folder.entries())
      if (entry.name.starts_with(kRemoved) || entry.name.starts_with(kFresh) ||
          entry.name.starts_with("." + std::string(kCurrent) + ".tmp-"))
        folder.remove_tree(entry.name);
    for (const std::string& name : generation_names(folder))
      if (name != read_pointer(folder, kCurrent) &&
          folder.system().unlinkat(folder.fd(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY &&
          errno != EEXIST)
        throw base::io_error(base::Doing::kWrite, folder.path_of(name), errno);
  }
  /// On the way out of a failure: what cannot be undone now is undone by the next open().
  void give_up(const std::string& fresh) const {
    try {
      folder.remove_tree(fresh);
      repair_current();
    } catch (const Error&) {
      return;  // the error that led here is the one to tell
    }
  }
  void repair_current() const {
    const auto current = current_generation(folder);
    if (current && read_pointer(folder, kCurrent) != current) write_pointer(folder, kCurrent, *current, can);
  }
  void remove_generation(const std::string& name) const {
    if (!can.folder_renames) return folder.remove_tree(name);
    // Renamed first: a half-removed generation must not look like an unfinished one.
    folder.rename(name, kRemoved + name);
    folder.remove_tree(kRemoved + name);
  }
};

RunHome::RunHome(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunHome::RunHome(RunHome&&) noexcept = default;
RunHome::~RunHome() = default;

RunHome RunHome::open(const std::string& home, base::FileSystem& system) {
  require_own_place(home);
  try {
    base::Folder folder = base::Folder::create(home, system);
    require_owned(folder, "run home");
    base::File lock = take_lock(folder);
    RunHome owned(std::unique_ptr<Impl>(new Impl{std::move(folder), std::move(lock)}));
    owned.impl_->remove_leftovers();
    owned.impl_->can = try_out(owned.impl_->folder);
    owned.impl_->repair_current();
    if (const auto current = current_generation(owned.impl_->folder))
      require_owned_generation(owned.impl_->folder, *current);
    return owned;
  } catch (const Error& error) {
    throw at_start(error);
  }
}

std::optional<std::string> RunHome::holder(const std::string& home) {
  const base::Folder folder = base::Folder::open(home);
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const base::File lock(folder.system().openat(folder.fd(), kLock, kFlags, 0));
  if (lock.fd() < 0 && errno == ENOENT) return std::nullopt;
  if (lock.fd() < 0) throw base::io_error(base::Doing::kRead, folder.path_of(kLock), errno);
  while (::flock(lock.fd(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw base::io_error(base::Doing::kRead, folder.path_of(kLock), errno);
    return holder_of(lock.fd());
  }
  return std::nullopt;
}

const Abilities& RunHome::abilities() const { return impl_->can; }
const std::string& RunHome::path() const { return impl_->folder.path(); }

Generation RunHome::current() const {
  const auto name = current_generation(impl_->folder);
  return name ? read_generation(impl_->folder, *name) : Generation{};
}

Generation RunHome::begin_generation(const Fill& fill) {
  const base::Folder& home = impl_->folder;
  const std::string name = next_generation_name(base::Clock::real().wall(), generation_names(home));
  const std::string fresh = impl_->can.folder_renames ? kFresh + name : name;
  try {
    impl_->remove_leftovers();
    const base::Folder folder = home.make_below(fresh);
    if (fill) fill(folder.path(), name);
    folder.sync();
    // The link first: where the rename does not follow, it leads nowhere and the next open() puts it back; the other
    // way round there could be a newer generation that `current` does not lead to.
    write_pointer(home, kCurrent, name, impl_->can);
    if (fresh != name) home.rename(fresh, name);
    home.sync();
    return read_generation(home, name);
  } catch (const Error& error) {
    impl_->give_up(fresh);
    throw at_start(error);
  }
}

void RunHome::prune(int keep) {
  impl_->remove_leftovers();
  const std::string now = current_generation(impl_->folder).value_or("");
  std::vector<std::string> names = generation_names(impl_->folder);
  std::reverse(names.begin(), names.end());
  int left = keep;
  for (const std::string& name : names) {
    if (read_generation(impl_->folder, name).state != GenerationState::kFinished) continue;
    if (left-- > 0 || name == now) continue;
    impl_->remove_generation(name);
  }
}

}  // namespace holdfast::checkpoint
