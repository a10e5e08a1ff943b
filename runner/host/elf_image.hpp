// The program headers of a shared library for this machine, each checked against the file. Knows no notes.
#pragma once

#include <elf.h>

#include <string>
#include <vector>

#include "host/byte_source.hpp"

namespace holdfast::host {

/// The program headers (System V gABI chapters 4 and 5) of `source`, which is then known to be a complete 64-bit
/// little-endian shared library for this machine: what is loaded and, unless stripped, the section table lie inside it
/// (mapping a truncated file would end in SIGBUS). `file` only names it in errors.
/// Throws Error 80: [plugin.not_elf], [plugin.wrong_machine], [plugin.damaged_elf].
std::vector<Elf64_Phdr> read_program_headers(const ByteSource& source, const std::string& file);

/// Throws Error 80 [plugin.<reason>] about `file`.
[[noreturn]] void refuse_elf(const std::string& file, const char* reason, const std::string& what,
                             const std::string& hint = {});
/// Throws Error 80 [plugin.damaged_elf]: `part` lies past the end of `source`.
[[noreturn]] void refuse_truncated(const std::string& file, const ByteSource& source, const std::string& part);

}  // namespace holdfast::host
