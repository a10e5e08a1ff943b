// Bounded reader of the plugin note. Every offset and size is checked against the file before use.
#include "host/elf_note.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "holdfast/error.hpp"
#include "host/component_name.hpp"

namespace holdfast::host {

namespace {

constexpr std::size_t kMostProgramHeaders = 256;
constexpr std::uint64_t kLargestNoteSegment = 64 * 1024;

#if defined(__x86_64__)
constexpr std::uint16_t kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kOurMachine = EM_AARCH64;
#else
#error "name this machine's ELF number here"
#endif

[[noreturn]] void refuse(const std::string& file, const char* reason, const std::string& what,
                         const std::string& hint = {}) {
  throw Error(ExitCode::kPlugin, std::string("plugin.") + reason, file, what, hint);
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32-bit)";
    case EM_ARM:
      return "arm (32-bit)";
    case EM_PPC64:
      return "ppc64";
    case EM_RISCV:
      return "riscv";
    case EM_S390:
      return "s390";
    default:
      return "ELF machine " + std::to_string(machine);
  }
}

[[noreturn]] void truncated(const std::string& file, const ByteSource& source, const std::string& part) {
  refuse(
      file, "damaged_elf",
      "the file is truncated or damaged: " + part + " lies past its end (" + std::to_string(source.size()) + " bytes)",
      "build or copy the plugin again");
}

/// What the first bytes look like, for the sentence about a file that is no ELF.
std::string looks_like(std::span<const std::byte> head) {
  if (head.empty()) return "it is empty";
  const std::string text(reinterpret_cast<const char*>(head.data()), head.size());
  return "it begins with '" + printable(text, 24) + "'";
}

void require_elf_64_little(const ByteSource& source, const std::string& file) {
  std::array<std::byte, EI_NIDENT> ident{};
  const std::size_t have = static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), ident.size()));
  const std::span<std::byte> head(ident.data(), have);
  if (!source.read(0, head)) truncated(file, source, "the ELF header");
  if (have < SELFMAG || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0)
    refuse(file, "not_elf", "not a shared library: " + looks_like(head.first(std::min<std::size_t>(have, 16))));
  if (have < ident.size()) truncated(file, source, "the ELF header");
  if (ident[EI_CLASS] != std::byte{ELFCLASS64})
    refuse(file, "wrong_machine", "a 32-bit ELF file, but this holdfast is 64-bit " + machine_name(kOurMachine),
           "build the plugin for this machine");
  if (ident[EI_DATA] != std::byte{ELFDATA2LSB})
    refuse(file, "wrong_machine",
           "a big-endian ELF file, but this holdfast is little-endian " + machine_name(kOurMachine),
           "build the plugin for this machine");
}

Elf64_Ehdr read_header(const ByteSource& source, const std::string& file) {
  require_elf_64_little(source, file);
  Elf64_Ehdr header{};
  if (!source.read(0, std::as_writable_bytes(std::span(&header, 1)))) truncated(file, source, "the ELF header");
  if (header.e_machine != kOurMachine)
    refuse(file, "wrong_machine",
           "built for " + machine_name(header.e_machine) + ", but this holdfast is " + machine_name(kOurMachine),
           "build the plugin for this machine");
  if (header.e_type != ET_DYN)
    refuse(file, "not_elf", "an ELF file, but not a shared library (type " + std::to_string(header.e_type) + ")");
  return header;
}

std::vector<Elf64_Phdr> read_program_headers(const ByteSource& source, const std::string& file) {
  const Elf64_Ehdr header = read_header(source, file);
  if (header.e_phnum == 0) refuse(file, "damaged_elf", "the file has no program headers, so nothing could be loaded");
  if (header.e_phnum > kMostProgramHeaders)
    refuse(file, "damaged_elf",
           "the file claims " + std::to_string(header.e_phnum) + " program headers; at most " +
               std::to_string(kMostProgramHeaders) + " are read");
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    refuse(file, "damaged_elf",
           "a program header has " + std::to_string(header.e_phentsize) + " bytes instead of " +
               std::to_string(sizeof(Elf64_Phdr)));
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!source.read(header.e_phoff, std::as_writable_bytes(std::span(headers))))
    truncated(file, source, "the program header table");
  return headers;
}

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
    refuse(file, "damaged_note", std::string("the plugin note is damaged: its ") + name + " is no printable text",
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
    refuse(file, "damaged_note",
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
      refuse(file, "damaged_elf",
             "a note segment claims " + std::to_string(header.p_filesz) + " bytes; at most " +
                 std::to_string(kLargestNoteSegment) + " are read");
    segment.resize(static_cast<std::size_t>(header.p_filesz));
    if (!source.read(header.p_offset, segment)) truncated(file, source, "a note segment");
    NoteWalk walk(segment, header.p_align);
    while (const auto note = walk.next()) {
      if (!is_ours(*note)) continue;
      if (found) refuse(file, "damaged_note", "the file holds two plugin notes; a library is one plugin");
      found = decode(file, note->payload);
    }
  }
  if (!found)
    refuse(file, "no_note", "a shared library, but no holdfast plugin: it has no plugin note",
           "a plugin has HOLDFAST_PLUGIN(\"id\", \"version\", \"summary\") { ... } in exactly one source file");
  return *std::move(found);
}

}  // namespace holdfast::host
