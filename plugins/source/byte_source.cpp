// Plain and gzip files through one read call; zlib stays in this file.
#include "source/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::uint64_t kDeflateRatio = 1032;
constexpr int kGzipWindow = 15 + 16;  // largest window, gzip wrapper

[[noreturn]] void cannot_open(const std::string& path, int error) {
  if (error == EMFILE || error == ENFILE)
    throw Error(ExitCode::kIoError, "data.descriptors", path, "cannot be opened: too many open files",
                "raise `ulimit -n`");
  if (error == EACCES || error == EPERM)
    throw Error(ExitCode::kMissingInput, "data.unreadable", path,
                std::string("cannot be opened: ") + std::strerror(error),
                "give this user permission to read it and to enter its folders");
  throw Error(ExitCode::kMissingInput, "data.missing", path, std::string("cannot be opened: ") + std::strerror(error),
              error == ENOENT ? "relative paths start at the recipe's folder" : "");
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

struct ByteSource::Impl {
  std::string path;
  int descriptor = -1;
  std::uint64_t size = 0;
  bool packed = false, ended = false;
  std::uint64_t unpacked = 0;
  std::unique_ptr<unsigned char[]> buffer;
  std::size_t begin = 0, end = 0;  // bytes of `buffer` not used yet
  z_stream stream{};

  ~Impl() {
    if (packed) inflateEnd(&stream);
    if (descriptor >= 0) ::close(descriptor);
  }

  void open();
  std::size_t read_file(unsigned char* into, std::size_t count) const;
  std::size_t read_plain(unsigned char* into, std::size_t count);
  std::size_t read_packed(unsigned char* into, std::size_t count);
  bool refill();
  void next_member();
  [[noreturn]] void cut_short() const;
  [[noreturn]] void damaged() const;
};

void ByteSource::Impl::open() {
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // a FIFO must not hold us
  if (descriptor < 0) cannot_open(path, errno);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) cannot_open(path, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ExitCode::kMissingInput, "data.not_a_file", path,
                std::string("is ") + kind_of(status.st_mode) + ", not a regular file");
  size = static_cast<std::uint64_t>(status.st_size);
  buffer = std::make_unique_for_overwrite<unsigned char[]>(kBufferBytes);
  refill();
  if (end >= 2 && buffer[0] == 0x1f && buffer[1] == 0x8b) {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK)
      throw Error(ExitCode::kHostOutOfMemory, "data.memory", path, "no memory to unpack it");
    packed = true;
  }
}

std::size_t ByteSource::Impl::read_file(unsigned char* into, std::size_t count) const {
  for (;;) {
    const ssize_t got = ::read(descriptor, into, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR)
      throw Error(ExitCode::kIoError, "data.io", path, std::string("cannot be read: ") + std::strerror(errno));
  }
}

bool ByteSource::Impl::refill() {
  begin = 0;
  end = read_file(buffer.get(), kBufferBytes);
  return end > 0;
}

std::size_t ByteSource::Impl::read_plain(unsigned char* into, std::size_t count) {
  std::size_t done = std::min(count, end - begin);
  std::memcpy(into, buffer.get() + begin, done);
  begin += done;
  while (done < count) {
    const std::size_t got = read_file(into + done, count - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::size_t ByteSource::Impl::read_packed(unsigned char* into, std::size_t count) {
  std::size_t done = 0;
  while (done < count && !ended) {
    if (begin == end && !refill()) cut_short();
    stream.next_in = buffer.get() + begin;
    stream.avail_in = static_cast<uInt>(end - begin);
    stream.next_out = into + done;
    const auto room = static_cast<uInt>(std::min<std::size_t>(count - done, 1U << 30));
    stream.avail_out = room;
    const int status = inflate(&stream, Z_NO_FLUSH);
    begin = end - stream.avail_in;
    done += room - stream.avail_out;
    unpacked += room - stream.avail_out;
    if (status == Z_STREAM_END)
      next_member();
    else if (status != Z_OK && status != Z_BUF_ERROR)
      damaged();
  }
  return done;
}

void ByteSource::Impl::next_member() {
  if (begin == end && !refill()) {
    ended = true;
    return;
  }
  if (buffer[begin] != 0x1f)
    throw Error(ExitCode::kBadData, "data.trailing", path, "holds something else after its gzip data",
                "fetch the file again");
  inflateReset(&stream);
}

void ByteSource::Impl::cut_short() const {
  throw Error(ExitCode::kBadData, "data.truncated", path,
              "the gzip data breaks off at the end of the file (" + std::to_string(size) + " bytes), after " +
                  std::to_string(unpacked) + " unpacked bytes",
              "fetch the file again");
}

void ByteSource::Impl::damaged() const {
  throw Error(ExitCode::kBadData, "data.gzip", path,
              "the gzip data is damaged after " + std::to_string(unpacked) +
                  " unpacked bytes: " + (stream.msg ? stream.msg : "it asks for a dictionary"),
              "fetch the file again");
}

ByteSource::ByteSource(std::string path) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::filesystem::absolute(path).lexically_normal().string();
  impl_->open();
}
ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;

std::size_t ByteSource::read(std::span<std::byte> into) {
  auto* bytes = reinterpret_cast<unsigned char*>(into.data());
  return impl_->packed ? impl_->read_packed(bytes, into.size()) : impl_->read_plain(bytes, into.size());
}

const std::string& ByteSource::path() const { return impl_->path; }
bool ByteSource::packed() const { return impl_->packed; }
std::uint64_t ByteSource::file_size() const { return impl_->size; }
int ByteSource::descriptor() const { return impl_->descriptor; }
std::uint64_t ByteSource::most_bytes() const { return impl_->packed ? impl_->size * kDeflateRatio : impl_->size; }

}  // namespace holdfast::plugins
