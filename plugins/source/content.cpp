// One mapping, or one block that grows while a gzip file is unpacked.
#include "source/content.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "holdfast/error.hpp"
#include "source/byte_source.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::uint64_t kFirstBlock = 1 << 20;

/// This machine's memory in bytes.
std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace

struct Content::Impl {
  std::string path;
  std::optional<ByteSource> source;  // keeps the file open under the mapping
  std::byte* data = nullptr;
  std::uint64_t size = 0;

  ~Impl() {
    if (source)
      ::munmap(data, size);
    else
      std::free(data);
  }
  void map();
  void unpack(ByteSource& packed);
  void grow(std::uint64_t capacity);
};

void Content::Impl::map() {
  size = source->file_size();
  if (size == 0) return;
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, source->descriptor(), 0);
  if (mapped == MAP_FAILED)
    throw Error(ExitCode::kIoError, "data.map", path, std::string("cannot be mapped: ") + std::strerror(errno));
  data = static_cast<std::byte*>(mapped);
}

void Content::Impl::grow(std::uint64_t capacity) {
  if (capacity > memory_bytes())
    throw Error(ExitCode::kHostOutOfMemory, "data.memory", path,
                "unpacks to more than " + std::to_string(size >> 20) + " MiB, but this machine has " +
                    std::to_string(memory_bytes() >> 20) + " MiB of memory",
                "unpack the file: a plain file is mapped, not read into memory");
  auto* larger = static_cast<std::byte*>(std::realloc(data, capacity));
  if (!larger) throw std::bad_alloc();
  data = larger;
}

void Content::Impl::unpack(ByteSource& packed) {
  for (std::uint64_t capacity = kFirstBlock;; capacity *= 2) {
    grow(capacity);
    const std::size_t got = packed.read({data + size, capacity - size});
    size += got;
    if (size < capacity) return;
  }
}

Content::Content(const std::string& path) : impl_(std::make_unique<Impl>()) {
  ByteSource opened(path);
  impl_->path = opened.path();
  if (opened.packed()) {
    impl_->unpack(opened);
  } else {
    impl_->source.emplace(std::move(opened));
    impl_->map();
  }
  if (impl_->size == 0) throw Error(ExitCode::kBadData, "data.empty", impl_->path, "is empty", "fetch the file again");
}
Content::~Content() = default;
Content::Content(Content&&) noexcept = default;

const std::string& Content::path() const { return impl_->path; }
std::uint64_t Content::size() const { return impl_->size; }

std::span<const std::byte> Content::bytes(std::uint64_t first, std::uint64_t count) const {
  if (impl_->source) {
    struct stat status {};
    const bool known = ::fstat(impl_->source->descriptor(), &status) == 0;
    if (!known || static_cast<std::uint64_t>(status.st_size) < first + count)
      throw Error(ExitCode::kIoError, "data.shortened", impl_->path,
                  "was shortened while it is in use: it had " + std::to_string(impl_->size) + " bytes and has " +
                      std::to_string(known ? status.st_size : 0) + " now",
                  "leave the data alone during a run; put the file back and run again to go on");
  }
  return {impl_->data + first, count};
}

void Content::release(std::uint64_t first, std::uint64_t count) const {
  if (!impl_->source) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t begin = first / page * page;
  ::madvise(impl_->data + begin, first + count - begin, MADV_DONTNEED);
}

}  // namespace holdfast::plugins
