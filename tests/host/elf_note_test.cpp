// The note reader on hand-made hostile files: each is one sentence, none is read past its end.
#include "host/elf_note.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include "host/plugin_folder.hpp"

using holdfast::PluginNote;
using holdfast::PluginStamp;
using holdfast::host::MemorySource;
using holdfast::host::read_stamp;
using holdfast::host::Stamp;
using holdfast::testing::error_of;

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

PluginNote good_note() {
  return {sizeof(HOLDFAST_NOTE_OWNER),
          sizeof(PluginStamp),
          HOLDFAST_NOTE_TYPE,
          HOLDFAST_NOTE_OWNER,
          {HOLDFAST_ABI, _GLIBCXX_USE_CXX11_ABI, "2.13.0", "tiny", "0.1"}};
}

/// The smallest file with a plugin note: header, one PT_NOTE segment, the note. Fields are edited before `read`.
struct TinyElf {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  PluginNote note = good_note();
  std::vector<std::byte> tail;  ///< behind the note, inside the segment

  TinyElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = kMachine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof segment;
    header.e_phnum = 1;
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof header + sizeof segment;
    segment.p_filesz = segment.p_memsz = sizeof note;
    segment.p_align = 4;
  }

  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> out(sizeof header + sizeof segment + sizeof note);
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
    std::memcpy(out.data() + sizeof header + sizeof segment, &note, sizeof note);
    out.insert(out.end(), tail.begin(), tail.end());
    return out;
  }

  void append(const PluginNote& other) {
    const auto* begin = reinterpret_cast<const std::byte*>(&other);
    tail.insert(tail.end(), begin, begin + sizeof other);
    segment.p_filesz = segment.p_memsz = sizeof note + tail.size();
  }
};

std::string read(const std::vector<std::byte>& bytes) {
  return error_of([&] { (void)read_stamp(MemorySource(bytes), "f"); });
}

std::string read_edited(void (*edit)(TinyElf&)) {
  TinyElf elf;
  edit(elf);
  return read(elf.bytes());
}

std::string damaged(const std::string& what) { return "80 f: error[plugin.damaged_elf]: " + what; }
std::string damaged_note(const std::string& what) {
  return "80 f: error[plugin.damaged_note]: the plugin note is damaged: " + what +
         "\n  hint: build or copy the plugin again";
}
std::string past_end(const std::string& part) {
  return damaged("the file is truncated or damaged: " + part + " lies past its end (" +
                 std::to_string(TinyElf().bytes().size()) + " bytes)\n  hint: build or copy the plugin again");
}

}  // namespace

TEST_CASE("the stamp of a file is read whole") {
  const std::vector<std::byte> bytes = TinyElf().bytes();
  const Stamp stamp = read_stamp(MemorySource(bytes), "f");
  CHECK(stamp.abi == HOLDFAST_ABI);
  CHECK(stamp.cxx11_abi == _GLIBCXX_USE_CXX11_ABI);
  CHECK(stamp.torch == "2.13.0");
  CHECK(stamp.id == "tiny");
  CHECK(stamp.version == "0.1");
}

TEST_CASE("other classes, byte orders, machines and types are named") {
  CHECK(read_edited([](TinyElf& e) {
          e.header.e_ident[EI_CLASS] = ELFCLASS32;
        }).starts_with("80 f: error[plugin.wrong_machine]: a 32-bit ELF file, but this holdfast is 64-bit "));
  CHECK(read_edited([](TinyElf& e) {
          e.header.e_ident[EI_DATA] = ELFDATA2MSB;
        }).starts_with("80 f: error[plugin.wrong_machine]: a big-endian ELF file, but this holdfast is "));
  CHECK(read_edited([](TinyElf& e) {
          e.header.e_machine = EM_PPC64;
        }).starts_with("80 f: error[plugin.wrong_machine]: built for ppc64, but this holdfast is "));
  CHECK(read_edited([](TinyElf& e) {
          e.header.e_machine = 0xfffe;
        }).starts_with("80 f: error[plugin.wrong_machine]: built for ELF machine 65534, but this holdfast is "));
  CHECK(read_edited([](TinyElf& e) { e.header.e_type = ET_REL; }) ==
        "80 f: error[plugin.not_elf]: an ELF file, but not a shared library (type 1)");
}

TEST_CASE("program headers that do not fit the file are named") {
  constexpr auto kFar = ~std::uint64_t{0} - 8;
  CHECK(read_edited([](TinyElf& e) { e.header.e_phnum = 0; }) ==
        damaged("the file has no program headers, so nothing could be loaded"));
  CHECK(read_edited([](TinyElf& e) { e.header.e_phnum = 0xffff; }) ==
        damaged("the file claims 65535 program headers; at most 256 are read"));
  CHECK(read_edited([](TinyElf& e) { e.header.e_phentsize = 1; }) ==
        damaged("a program header has 1 bytes instead of 56"));
  CHECK(read_edited([](TinyElf& e) { e.header.e_phoff = kFar; }) == past_end("the program header table"));
  CHECK(read_edited([](TinyElf& e) { e.header.e_phnum = 200; }) == past_end("the program header table"));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_offset = kFar; }) == past_end("a note segment"));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_filesz += 1; }) == past_end("a note segment"));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_filesz = kFar; }) ==
        damaged("a note segment claims 18446744073709551607 bytes; at most 65536 are read"));
}

TEST_CASE("a file cut inside what would be mapped is refused before the loader would die of it") {
  CHECK(read_edited([](TinyElf& e) { e.segment.p_type = PT_LOAD, e.segment.p_memsz = ++e.segment.p_filesz; }) ==
        past_end("a loaded segment"));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_type = PT_LOAD, e.segment.p_offset = ~std::uint64_t{0}; }) ==
        past_end("a loaded segment"));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_type = PT_LOAD, e.segment.p_memsz = 0; }) ==
        damaged("a loaded segment has more bytes in the file than in memory\n  hint: build or copy the plugin again"));
  CHECK(read_edited([](TinyElf& e) { e.header.e_shoff = 64, e.header.e_shnum = e.header.e_shentsize = 0xffff; }) ==
        past_end("the section table"));
}

TEST_CASE("notes with sizes that lead out of their segment are no notes") {
  constexpr const char* kNone =
      "80 f: error[plugin.no_note]: a shared library, but no holdfast plugin: it has no plugin note";
  CHECK(read_edited([](TinyElf& e) { e.note.owner_size = 0xffffffff; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.note.payload_size = 0xffffffff; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.note.payload_size = 0xfffffffd; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.note.owner_size = 8; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.note.owner[0] = 'H'; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.note.type = 2; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_filesz = e.segment.p_memsz = 11; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_filesz = e.segment.p_memsz = 0; }).starts_with(kNone));
  CHECK(read_edited([](TinyElf& e) { e.segment.p_type = PT_NULL; }).starts_with(kNone));
}

TEST_CASE("a payload of another size is damage, or another ABI if its number says so") {
  CHECK(read_edited([](TinyElf& e) { e.note.payload_size -= 4; }) ==
        damaged_note("its payload has 132 bytes instead of 136"));
  CHECK(read_edited([](TinyElf& e) { e.note.payload_size = 0; }) ==
        damaged_note("its payload has 0 bytes instead of 136"));
  TinyElf later;
  later.note.payload_size -= 4;
  later.note.stamp.abi = 7;
  const std::vector<std::byte> bytes = later.bytes();
  CHECK(read_stamp(MemorySource(bytes), "f").abi == 7);
}

TEST_CASE("texts of a stamp without end, empty or unprintable are damage") {
  CHECK(read_edited([](TinyElf& e) { std::memset(e.note.stamp.torch, 'x', sizeof e.note.stamp.torch); }) ==
        damaged_note("its LibTorch version is no printable text"));
  CHECK(read_edited([](TinyElf& e) { e.note.stamp.id[0] = '\0'; }) == damaged_note("its id is no printable text"));
  CHECK(read_edited([](TinyElf& e) { e.note.stamp.version[1] = '\x1b'; }) ==
        damaged_note("its version is no printable text"));
}

TEST_CASE("two plugin notes in one file are refused, a note of somebody else is passed over") {
  TinyElf twice;
  twice.append(good_note());
  CHECK(read(twice.bytes()) ==
        "80 f: error[plugin.damaged_note]: the file holds two plugin notes; a library is one plugin");
  TinyElf foreign;
  foreign.note.type = 9;
  foreign.append(good_note());
  CHECK(read(foreign.bytes()) == "nothing");
}

TEST_CASE("every prefix of a file is a sentence") {
  const std::vector<std::byte> whole = TinyElf().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a read past the end is seen by the address sanitizer.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_MESSAGE(read(cut).starts_with("80 f: error[plugin."), size);
  }
}

TEST_CASE("144 bytes of a header that points nowhere, on which Boost's own reader dies, are a sentence") {
  std::vector<std::byte> bytes = TinyElf().bytes();
  bytes.resize(144);
  const Elf64_Off far = 0x4141414141414141;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_shoff), &far, sizeof far);
  CHECK(read(bytes).starts_with("80 f: error[plugin.damaged_elf]: the file is truncated or damaged: "));
}
