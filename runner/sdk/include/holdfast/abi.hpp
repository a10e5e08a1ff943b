// The plugin border: one C function, and an ELF note that tells the ABI before any code of the library runs.
// Torch-free. The number changes whenever any header of this folder changes in a way that a compiled plugin would
// notice.
#pragma once

#include <cstddef>
#include <cstdint>

#define HOLDFAST_ABI 1
#define HOLDFAST_NOTE_OWNER "holdfast"
#define HOLDFAST_NOTE_TYPE 1

extern "C" {

/// What `holdfast_plugin_query_v1` returns. Fields are only ever appended; `struct_size` tells how many there are.
struct holdfast_plugin_v1 {
  std::uint32_t struct_size;
  std::uint32_t abi;
  const char* id;
  const char* version;
  const char* summary;
  /// Registers every component with `registrar` (a holdfast::Registrar*). Returns 0, or writes a sentence of at most
  /// `size` bytes, terminator included, to `error` and returns non-zero. Never throws.
  int (*register_components)(void* registrar, char* error, std::size_t size);
};

using holdfast_plugin_query_v1_fn = const holdfast_plugin_v1* (*)();
}

namespace holdfast {

/// Payload of the note, fixed size, host byte order, strings terminated and zero-padded.
struct PluginStamp {
  std::uint32_t abi;
  std::uint32_t cxx11_abi;  ///< _GLIBCXX_USE_CXX11_ABI
  char torch[32];           ///< TORCH_VERSION of the headers
  char id[64];
  char version[32];
};

/// The whole note as the linker sees it (ELF gABI, note section): sizes, type, owner padded to 4, payload.
struct PluginNote {
  std::uint32_t owner_size;
  std::uint32_t payload_size;
  std::uint32_t type;
  char owner[12];
  PluginStamp stamp;
};
static_assert(sizeof(PluginNote) == 12 + 12 + sizeof(PluginStamp));

}  // namespace holdfast
