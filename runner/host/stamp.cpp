// Compares a plugin's stamp with the host's.
#include "host/stamp.hpp"

#include "holdfast/error.hpp"

namespace holdfast::host {

namespace {
std::string_view release(std::string_view version) { return version.substr(0, version.find('+')); }
}  // namespace

void require_match(const std::string& file, const Stamp& plugin, const HostStamp& host) {
  if (plugin.abi != host.abi)
    throw Error(ExitCode::kPlugin, "plugin.abi_mismatch", file,
                "built for plugin ABI " + std::to_string(plugin.abi) + ", but this holdfast has plugin ABI " +
                    std::to_string(host.abi),
                "rebuild the plugin with the SDK of this holdfast");
  if (release(plugin.torch) != release(host.torch))
    throw Error(ExitCode::kPlugin, "plugin.torch_mismatch", file,
                "compiled against LibTorch " + plugin.torch + ", but this holdfast runs LibTorch " + host.torch,
                "rebuild the plugin with LibTorch " + std::string(release(host.torch)));
  if (plugin.cxx11_abi != host.cxx11_abi)
    throw Error(ExitCode::kPlugin, "plugin.cxx11_mismatch", file,
                "compiled with _GLIBCXX_USE_CXX11_ABI=" + std::to_string(plugin.cxx11_abi) +
                    ", but this holdfast with _GLIBCXX_USE_CXX11_ABI=" + std::to_string(host.cxx11_abi),
                "rebuild the plugin with -D_GLIBCXX_USE_CXX11_ABI=" + std::to_string(host.cxx11_abi));
}

}  // namespace holdfast::host
