// A folder with a file in it is renamed, a link is made; what the system says about it is the answer.
#include "checkpoint/place.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/atomic_file.hpp"
#include "base/io_error.hpp"
#include "base/process.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr std::size_t kLongestName = 255;

/// Errors that speak of the disk and not of what it can do.
bool about_the_disk(int number) {
  return number == ENOSPC || number == EDQUOT || number == EROFS || number == EMFILE || number == ENFILE;
}

/// True when a call said that it worked.
bool worked(int result, const base::Folder& folder) {
  if (result == 0) return true;
  if (about_the_disk(errno)) throw base::io_error(base::Doing::kCreate, folder.path(), errno);
  return false;
}

void try_in(const base::Folder& folder, const std::string& name, Abilities& found) {
  const base::Folder below = folder.make_below(name);
  const base::File file = below.create_file("file", 0644);
  const std::string renamed = name + "-renamed", link = name + "-link";
  found.folder_renames =
      worked(folder.system().renameat(folder.fd(), name.c_str(), folder.fd(), renamed.c_str()), folder);
  found.links = worked(folder.system().symlinkat("file", folder.fd(), link.c_str()), folder);
}

}  // namespace

Abilities try_out(const base::Folder& folder) {
  const std::string name = ".new-trial-" + std::to_string(::getpid()) + "-" + base::random_hex(8);
  Abilities found;
  const auto tidy = [&] {
    for (const char* end : {"", "-renamed", "-link"}) folder.remove_tree(name + end);
  };
  try {
    try_in(folder, name, found);
  } catch (const Error&) {
    try {
      tidy();
    } catch (const Error&) {  // the error that led here is the one to tell; the next start tidies up
    }
    throw;
  }
  tidy();
  return found;
}

std::vector<std::string> shortcomings(const Abilities& abilities) {
  std::vector<std::string> sentences;
  if (!abilities.links)
    sentences.emplace_back(
        "the file system of the run home has no links: `current` and `latest` are files that hold a name");
  if (!abilities.folder_renames)
    sentences.emplace_back(
        "the file system of the run home cannot rename folders: a checkpoint is made under its final name and counts "
        "once its manifest.json is there");
  return sentences;
}

void write_pointer(const base::Folder& folder, const std::string& name, const std::string& target,
                   const Abilities& abilities) {
  if (abilities.links)
    base::write_link_atomic(folder, name, target);
  else
    base::write_file_atomic(folder, name, target + "\n");
}

std::optional<std::string> read_pointer(const base::Folder& folder, const std::string& name) {
  if (auto target = folder.link_target(name)) return target;
  if (folder.kind_of(name) != base::EntryKind::kFile) return std::nullopt;
  try {
    std::string text = folder.read(name, kLongestName + 1);
    if (text.size() < 2 || text.back() != '\n') return std::nullopt;
    text.pop_back();
    if (text.find_first_of(std::string("/\n\0", 3)) != std::string::npos) return std::nullopt;
    return text;
  } catch (const Error&) {
    return std::nullopt;  // what cannot be read leads nowhere
  }
}

}  // namespace holdfast::checkpoint
