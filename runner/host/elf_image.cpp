// Headers of ELF files. Every offset and size is checked against the file before use.
#include "host/elf_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::host {

namespace {

constexpr std::size_t kMostProgramHeaders = 256;

#if defined(__x86_64__)
constexpr std::uint16_t kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kOurMachine = EM_AARCH64;
#else
#error "name this machine's ELF number here"
#endif

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

/// What the first bytes look like, for the sentence about a file that is no ELF.
std::string looks_like(std::span<const std::byte> head) {
  if (head.empty()) return "it is empty";
  const std::string text(reinterpret_cast<const char*>(head.data()), head.size());
  return "it begins with '" + base::shortened(text, 24) + "'";
}

void require_elf_64_little(const ByteSource& source, const std::string& file) {
  std::array<std::byte, EI_NIDENT> ident{};
  const std::size_t have = static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), ident.size()));
  const std::span<std::byte> head(ident.data(), have);
  if (!source.read(0, head)) refuse_truncated(file, source, "the ELF header");
  if (have < SELFMAG || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0)
    refuse_elf(file, "not_elf", "not a shared library: " + looks_like(head.first(std::min<std::size_t>(have, 16))));
  if (have < ident.size()) refuse_truncated(file, source, "the ELF header");
  if (ident[EI_CLASS] != std::byte{ELFCLASS64})
    refuse_elf(file, "wrong_machine", "a 32-bit ELF file, but this holdfast is 64-bit " + machine_name(kOurMachine),
               "build the plugin for this machine");
  if (ident[EI_DATA] != std::byte{ELFDATA2LSB})
    refuse_elf(file, "wrong_machine",
               "a big-endian ELF file, but this holdfast is little-endian " + machine_name(kOurMachine),
               "build the plugin for this machine");
}

Elf64_Ehdr read_header(const ByteSource& source, const std::string& file) {
  require_elf_64_little(source, file);
  Elf64_Ehdr header{};
  if (!source.read(0, std::as_writable_bytes(std::span(&header, 1)))) refuse_truncated(file, source, "the ELF header");
  if (header.e_machine != kOurMachine)
    refuse_elf(file, "wrong_machine",
               "built for " + machine_name(header.e_machine) + ", but this holdfast is " + machine_name(kOurMachine),
               "build the plugin for this machine");
  if (header.e_type != ET_DYN)
    refuse_elf(file, "not_elf", "an ELF file, but not a shared library (type " + std::to_string(header.e_type) + ")");
  return header;
}

bool inside(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
  return offset <= source.size() && size <= source.size() - offset;
}

void require_complete(const ByteSource& source, const std::string& file, const Elf64_Ehdr& header,
                      const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (!inside(source, segment.p_offset, segment.p_filesz)) refuse_truncated(file, source, "a loaded segment");
    if (segment.p_filesz > segment.p_memsz)
      refuse_elf(file, "damaged_elf", "a loaded segment has more bytes in the file than in memory",
                 "build or copy the plugin again");
  }
  // At most 65535 sections of 65535 bytes: no overflow.
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !inside(source, header.e_shoff, sections))
    refuse_truncated(file, source, "the section table");
}

}  // namespace

void refuse_elf(const std::string& file, const char* reason, const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kPlugin, std::string("plugin.") + reason, file, what, hint);
}

void refuse_truncated(const std::string& file, const ByteSource& source, const std::string& part) {
  refuse_elf(
      file, "damaged_elf",
      "the file is truncated or damaged: " + part + " lies past its end (" + std::to_string(source.size()) + " bytes)",
      "build or copy the plugin again");
}

std::vector<Elf64_Phdr> read_program_headers(const ByteSource& source, const std::string& file) {
  const Elf64_Ehdr header = read_header(source, file);
  if (header.e_phnum == 0)
    refuse_elf(file, "damaged_elf", "the file has no program headers, so nothing could be loaded");
  if (header.e_phnum > kMostProgramHeaders)
    refuse_elf(file, "damaged_elf",
               "the file claims " + std::to_string(header.e_phnum) + " program headers; at most " +
                   std::to_string(kMostProgramHeaders) + " are read");
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    refuse_elf(file, "damaged_elf",
               "a program header has " + std::to_string(header.e_phentsize) + " bytes instead of " +
                   std::to_string(sizeof(Elf64_Phdr)));
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!source.read(header.e_phoff, std::as_writable_bytes(std::span(headers))))
    refuse_truncated(file, source, "the program header table");
  require_complete(source, file, header, headers);
  return headers;
}

}  // namespace holdfast::host
