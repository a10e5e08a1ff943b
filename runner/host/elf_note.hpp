// Reads the plugin stamp out of an ELF file without running any of it. Bounded and fuzzed: whatever the bytes are, the
// outcome is a stamp or a sentence. Layout: System V gABI chapters 4 and 5 (ELF header, program header, note section).
#pragma once

#include <string>

#include "host/byte_source.hpp"
#include "host/stamp.hpp"

namespace holdfast::host {

/// The stamp of the plugin in `source`; `file` only names it in errors. Reads the program headers, not the sections:
/// they are what the loader maps, and `strip` keeps them. Holds at most 64 KiB at a time.
/// Throws Error 80: [plugin.not_elf] another kind of file, [plugin.wrong_machine] another architecture,
/// [plugin.damaged_elf] a header that does not fit the file, [plugin.no_note] no plugin, [plugin.damaged_note].
Stamp read_stamp(const ByteSource& source, const std::string& file);

}  // namespace holdfast::host
