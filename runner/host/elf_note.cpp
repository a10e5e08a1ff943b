// Bounded reader of the plugin note.
#include "host/elf_note.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "host/elf_image.hpp"

namespace holdfast::host {

namespace {

constexpr std::uint64_t kLargestNoteSegment = 65536;

/// Walks the notes of one segment; sizes come from the file, so each step is checked before it is taken.
class NoteWalk {
 public:
  NoteWalk(std::span<const std::byte> segment, std::uint64_t alignment)
      : rest_(segment), alignment_(alignment == 8 ? 8 : 4) {}

  struct Note {
    std::uint32_t type = 0;
    std::span<const std::byte> owner, payload;
  };

  /// The next note; nothing at the end of the segment or where the rest is no note.
  std::optional<Note> next() {
    std::array<std::uint32_t, 3> sizes{};  // owner, payload, type
    if (rest_.size() < sizeof sizes) return std::nullopt;
    std::memcpy(sizes.data(), rest_.data(), sizeof sizes);
    rest_ = rest_.subspan(sizeof sizes);
    const auto owner = take(sizes[0]);
    if (!owner) return std::nullopt;
    const auto payload = take(sizes[1]);
    if (!payload) return std::nullopt;
    return Note{sizes[2], *owner, *payload};
  }

 private:
  std::optional<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const auto part = rest_.first(static_cast<std::size_t>(size));
    const std::uint64_t padded = (size + alignment_ - 1) / alignment_ * alignment_;
    rest_ = rest_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(padded, rest_.size())));
    return part;
  }

  std::span<const std::byte> rest_;
  std::uint64_t alignment_;
};

bool is_ours(const NoteWalk::Note& note) {
  return note.type == HOLDFAST_NOTE_TYPE && note.owner.size() == sizeof HOLDFAST_NOTE_OWNER &&
         std::memcmp(note.owner.data(), HOLDFAST_NOTE_OWNER, sizeof HOLDFAST_NOTE_OWNER) == 0;
}

template <std::size_t N>
std::string text_field(const std::string& file, const char (&field)[N], const char* name) {
  const char* end = std::find(field, field + N, '\0');
  const std::string text(field, end);
  if (end == field + N || text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    refuse_elf(file, "damaged_note", std::string("the plugin note is damaged: its ") + name + " is no printable text",
               "build or copy the plugin again");
  return text;
}

Stamp decode(const std::string& file, std::span<const std::byte> payload) {
  PluginStamp raw{};
  std::uint32_t abi = 0;
  if (payload.size() >= sizeof abi) std::memcpy(&abi, payload.data(), sizeof abi);
  if (payload.size() != sizeof raw) {
    // Another ABI may have another payload; its number comes first in all of them and is what must be reported.
    if (payload.size() >= sizeof abi && abi != HOLDFAST_ABI) return {abi, 0, "unknown", "unknown", "unknown"};
    refuse_elf(file, "damaged_note",
               "the plugin note is damaged: its payload has " + std::to_string(payload.size()) + " bytes instead of " +
                   std::to_string(sizeof raw),
               "build or copy the plugin again");
  }
  std::memcpy(&raw, payload.data(), sizeof raw);
  return {raw.abi, raw.cxx11_abi, text_field(file, raw.torch, "LibTorch version"), text_field(file, raw.id, "id"),
          text_field(file, raw.version, "version")};
}

}  // namespace

Stamp read_stamp(const ByteSource& source, const std::string& file) {
  std::optional<Stamp> found;
  std::vector<std::byte> segment;
  for (const Elf64_Phdr& header : read_program_headers(source, file)) {
    if (header.p_type != PT_NOTE) continue;
    if (header.p_filesz > kLargestNoteSegment)
      refuse_elf(file, "damaged_elf",
                 "a note segment claims " + std::to_string(header.p_filesz) + " bytes; at most " +
                     std::to_string(kLargestNoteSegment) + " are read");
    segment.resize(static_cast<std::size_t>(header.p_filesz));
    if (!source.read(header.p_offset, segment)) refuse_truncated(file, source, "a note segment");
    NoteWalk walk(segment, header.p_align);
    while (const auto note = walk.next()) {
      if (!is_ours(*note)) continue;
      if (found) refuse_elf(file, "damaged_note", "the file holds two plugin notes; a library is one plugin");
      found = decode(file, note->payload);
    }
  }
  if (!found)
    refuse_elf(file, "no_note", "a shared library, but no holdfast plugin: it has no plugin note",
               "a plugin has HOLDFAST_PLUGIN(\"id\", \"version\", \"summary\") { ... } in exactly one source file");
  return *std::move(found);
}

}  // namespace holdfast::host
