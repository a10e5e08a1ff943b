// The note reader on thousands of mutations of real plugin files, from a fixed seed: a stamp or a sentence, nothing
// else. Meant to run under the address and undefined-behaviour sanitizers.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>

#include "host/elf_note.hpp"
#include "host/plugin_folder.hpp"

using holdfast::Error;
using holdfast::ExitCode;
using holdfast::host::MemorySource;
using holdfast::host::read_stamp;
using holdfast::host::Stamp;
using holdfast::testing::bytes_of;
using holdfast::testing::fixture;

namespace {

struct Tally {
  int stamps = 0, refused = 0;
};

bool is_clean(const std::string& text, std::size_t limit) {
  return !text.empty() && text.size() < limit &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

void read_one(std::span<const std::byte> bytes, Tally& tally) {
  try {
    const Stamp stamp = read_stamp(MemorySource(bytes), "f");
    REQUIRE(is_clean(stamp.id, 64));
    REQUIRE(is_clean(stamp.torch, 32));
    ++tally.stamps;
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::kPlugin);
    REQUIRE(std::string_view(error.what()).starts_with("f: error[plugin."));
    ++tally.refused;
  }
}

class Mutator {
 public:
  Mutator(const std::vector<std::byte>& original, std::uint64_t seed) : original_(original), random_(seed) {
    Elf64_Ehdr header{};
    std::memcpy(&header, original.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment{};
      std::memcpy(&segment, original.data() + header.e_phoff + i * sizeof segment, sizeof segment);
      if (segment.p_type == PT_NOTE) notes_.push_back({segment.p_offset, segment.p_filesz});
    }
    headers_ = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  }

  std::vector<std::byte> next() {
    std::vector<std::byte> bytes = original_;
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) edit(bytes);
    if (below(8) == 0) bytes.resize(below(2) == 0 ? below(headers_ + 64) : below(bytes.size()));
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// Mostly the headers, often the notes, seldom anywhere.
  std::uint64_t place(std::size_t size) {
    const std::uint64_t kind = below(10);
    if (kind < 6 || notes_.empty()) return below(headers_);
    if (kind == 9) return below(size);
    const auto& [offset, length] = notes_[below(notes_.size())];
    return offset + below(length);
  }

  void edit(std::vector<std::byte>& bytes) {
    static constexpr std::uint64_t kEdges[] = {0,      1,          3,          4,          0x7f,       0xff,
                                               0xffff, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff, 1ULL << 63,
                                               ~0ULL,  ~7ULL,      4096,       64 * 1024};
    const std::uint64_t at = place(bytes.size());
    const std::size_t width = std::size_t{1} << below(4);
    const std::uint64_t value = below(2) == 0 ? kEdges[below(std::size(kEdges))] : random_();
    const std::uint64_t aligned = below(2) == 0 ? at : at / width * width;
    if (aligned < bytes.size())
      std::memcpy(&bytes[aligned], &value, std::min<std::size_t>(width, bytes.size() - aligned));
  }

  const std::vector<std::byte>& original_;
  std::mt19937_64 random_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> notes_;
  std::uint64_t headers_ = 0;
};

void fuzz(const std::string& name, int rounds) {
  const std::vector<std::byte> original = bytes_of(fixture(name));
  REQUIRE(original.size() > sizeof(Elf64_Ehdr));
  Mutator mutator(original, 20261130);
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    read_one(mutator.next(), tally);
  }
  MESSAGE(name << ": " << tally.stamps << " stamps, " << tally.refused << " refused");
  CHECK(tally.stamps > rounds / 20);   // some mutations do not matter,
  CHECK(tally.refused > rounds / 10);  // and many do
}

}  // namespace

TEST_CASE("mutations of a small plugin file are read as a stamp or a sentence") { fuzz("no_entry", 20000); }

TEST_CASE("mutations of a plugin file with code and debug information are read as a stamp or a sentence") {
  fuzz("good", 200);
}

TEST_CASE("truncations of a plugin file are a sentence: every one within the headers, then in odd steps") {
  const std::vector<std::byte> original = bytes_of(fixture("no_entry"));
  Tally tally;
  for (std::size_t size = 0; size < original.size(); size += size < 2048 ? 1 : 251) {
    // A copy of its own, so that a read past the end is seen by the address sanitizer.
    const std::vector<std::byte> cut(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(size));
    read_one(cut, tally);
  }
  CHECK(tally.stamps == 0);
  CHECK(tally.refused > 2048);
}
