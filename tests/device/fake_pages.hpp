// The system's memory with a limit, counted.
#pragma once

#include <map>

#include "device/pages.hpp"

namespace holdfast::tests {

class FakePages : public device::Pages {
 public:
  void* map(std::size_t bytes) noexcept override {
    if (bytes > limit - mapped) {
      ++refused;
      return nullptr;
    }
    void* begin = system_.map(bytes);
    if (begin) mapped += bytes, segments[begin] = bytes;
    return begin;
  }
  void unmap(void* begin, std::size_t bytes) noexcept override {
    const auto found = segments.find(begin);
    whole = whole && found != segments.end() && found->second == bytes;
    if (found != segments.end()) segments.erase(found);
    mapped -= bytes;
    system_.unmap(begin, bytes);
  }
  void discard(void* begin, std::size_t bytes) noexcept override {
    discarded += bytes;
    system_.discard(begin, bytes);
  }

  std::size_t limit = std::size_t{1} << 40, mapped = 0, discarded = 0;
  int refused = 0;
  bool whole = true;  ///< every unmap was of a whole segment
  std::map<void*, std::size_t> segments;

 private:
  device::SystemPages system_;
};

}  // namespace holdfast::tests
