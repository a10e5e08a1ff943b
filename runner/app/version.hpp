// The version of this build, for people and programs.
#pragma once

#include <string>

#include "holdfast/abi.hpp"

namespace holdfast::app {

inline std::string version_text() {
  return std::string("holdfast ") + HOLDFAST_VERSION + " (LibTorch " + HOLDFAST_TORCH_VERSION + ", plugin ABI " +
         std::to_string(HOLDFAST_ABI) + ")\n";
}

inline std::string version_json() {
  return std::string(R"({"version": ")") + HOLDFAST_VERSION + R"(", "torch": ")" + HOLDFAST_TORCH_VERSION +
         R"(", "plugin_abi": )" + std::to_string(HOLDFAST_ABI) + "}\n";
}

}  // namespace holdfast::app
