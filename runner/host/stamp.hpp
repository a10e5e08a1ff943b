// What a plugin was built for, and whether that is this host. Knows no files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/abi.hpp"
#include "holdfast/component.hpp"

namespace holdfast::host {

/// The stamp of a plugin, out of its note.
struct Stamp {
  std::uint32_t abi = 0;
  std::uint32_t cxx11_abi = 0;
  std::string torch, id, version;
};

/// The host's own side. The host is torch-free, so the worker passes TORCH_VERSION of its headers.
struct HostStamp {
  std::string torch;
  std::uint32_t abi = HOLDFAST_ABI;
  std::uint32_t cxx11_abi = _GLIBCXX_USE_CXX11_ABI;
};

/// Throws Error 80, naming `file` and both sides, when ABI number [plugin.abi_mismatch], LibTorch version
/// [plugin.torch_mismatch] or libstdc++ string ABI [plugin.cxx11_mismatch] differ.
/// LibTorch versions must be equal up to a '+': "2.13.0" and "2.13.0+cpu" agree, because the part after it names the
/// package's build (PEP 440, local version) and LibTorch's own headers, which stamp the plugin, never carry it;
/// "2.13.0a0" and "2.13.1" differ from "2.13.0".
void require_match(const std::string& file, const Stamp& plugin, const HostStamp& host);

}  // namespace holdfast::host
