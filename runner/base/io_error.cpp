// The table from errno to words.
#include "base/io_error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"

namespace holdfast::base {
namespace {

struct Meaning {
  ExitCode code;
  const char* reason;
  const char* hint;
};

Meaning resource_meaning(int number) {
  switch (number) {
    case ENOSPC:
      return {ExitCode::kIoError, "io.disk_full", "free space on its file system, then run again"};
    case EDQUOT:
      return {ExitCode::kIoError, "io.quota", "the disk quota is used up: free space or raise it, then run again"};
    case EFBIG:
      return {ExitCode::kIoError, "io.too_big",
              "the file exceeds a size limit: raise `ulimit -f` or use a file system without it"};
    case EMFILE:
    case ENFILE:
      return {ExitCode::kIoError, "io.descriptors", "raise the limit of open files (`ulimit -n`), then run again"};
    case EIO:
      return {ExitCode::kIoError, "io.device", "the disk or network file system reports a fault: see the kernel log"};
    default:
      return {ExitCode::kIoError, "io.failed", "see the message of the system, then run again"};
  }
}

Meaning read_meaning(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return {ExitCode::kMissingInput, "io.missing", "check the path; relative paths in a recipe start at its folder"};
    case EACCES:
    case EPERM:
      return {ExitCode::kMissingInput, "io.unreadable", "give this user permission to read it"};
    case ELOOP:
      return {ExitCode::kMissingInput, "io.link",
              "a link stands where a file or folder is expected: put the real one there"};
    case EISDIR:
      return {ExitCode::kMissingInput, "io.is_folder", "name a file, not a folder"};
    default:
      return resource_meaning(number);
  }
}

Meaning output_meaning(Doing doing, int number) {
  const ExitCode other = doing == Doing::kCreate ? ExitCode::kCannotCreate : ExitCode::kIoError;
  switch (number) {
    case EACCES:
    case EPERM:
      return {ExitCode::kPermission, "io.permission", "give this user permission to write there, or use --output DIR"};
    case EROFS:
      return {other, "io.read_only", "the file system is read-only: use --output DIR on another one"};
    case ENOENT:
      return {other, "io.missing", "the folder that should hold it is not there: create it"};
    case ENOTDIR:
      return {other, "io.not_a_folder", "a part of the path is a file: remove it or use --output DIR"};
    case EEXIST:
      return {other, "io.exists", "something else stands there: remove it or use --output DIR"};
    case ELOOP:
      return {other, "io.link", "a link stands where a file or folder is expected: remove it"};
    case ENAMETOOLONG:
      return {other, "io.name_too_long", "use a shorter run name or --output DIR"};
    default:
      return resource_meaning(number);
  }
}

/// The constant's name, as people search for it; glibc has it since 2.32.
std::string text_of(int number) {
  const char* name = ::strerrorname_np(number);
  const char* description = ::strerrordesc_np(number);
  if (name == nullptr || description == nullptr) return "error " + std::to_string(number);
  return std::string(description) + " (" + name + ")";
}

}  // namespace

Error io_error(Doing doing, const std::string& path, int errno_value) {
  const Meaning meaning = doing == Doing::kRead ? read_meaning(errno_value) : output_meaning(doing, errno_value);
  const char* verb = doing == Doing::kRead     ? "cannot read: "
                     : doing == Doing::kCreate ? "cannot create: "
                                               : "cannot write: ";
  return Error(meaning.code, meaning.reason, terminal_safe_line(absolute_path(path)), verb + text_of(errno_value),
               meaning.hint);
}

std::string absolute_path(const std::string& path) {
  std::error_code ignored;  // without a current folder the path stays as it was given
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  std::string text = absolute.empty() ? path : absolute.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace holdfast::base
