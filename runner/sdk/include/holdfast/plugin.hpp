// HOLDFAST_PLUGIN("id", "version", "summary") { registrar.add<MyModel>("mymodel", "what it is"); }
// Exactly once in a library. Emits the ELF note and the entry function. Torch-free but for the version number.
#pragma once

#ifndef HOLDFAST_TORCH_VERSION  // defined only by plugins that hold no tensor and must build without LibTorch
#include <torch/version.h>
#define HOLDFAST_TORCH_VERSION TORCH_VERSION
#endif

#include <cstdio>
#include <exception>

#include "holdfast/abi.hpp"
#include "holdfast/registrar.hpp"

#define HOLDFAST_PLUGIN(ID, VERSION, SUMMARY)                                                                   \
  static void holdfast_register(::holdfast::Registrar& registrar);                                              \
  namespace {                                                                                                   \
  __attribute__((section(".note.holdfast"), used, aligned(4))) const ::holdfast::PluginNote kHoldfastNote = {   \
      sizeof(HOLDFAST_NOTE_OWNER),                                                                              \
      sizeof(::holdfast::PluginStamp),                                                                          \
      HOLDFAST_NOTE_TYPE,                                                                                       \
      HOLDFAST_NOTE_OWNER,                                                                                      \
      {HOLDFAST_ABI, _GLIBCXX_USE_CXX11_ABI, HOLDFAST_TORCH_VERSION, ID, VERSION}};                             \
  int holdfast_register_guarded(void* registrar, char* error, std::size_t size) {                               \
    try {                                                                                                       \
      holdfast_register(*static_cast<::holdfast::Registrar*>(registrar));                                       \
      return 0;                                                                                                 \
    } catch (const std::exception& failure) {                                                                   \
      std::snprintf(error, size, "%s", failure.what());                                                         \
    } catch (...) {                                                                                             \
      std::snprintf(error, size, "an exception that is not a std::exception");                                  \
    }                                                                                                           \
    return 1;                                                                                                   \
  }                                                                                                             \
  const holdfast_plugin_v1 kHoldfastPlugin = {sizeof(holdfast_plugin_v1), HOLDFAST_ABI, ID, VERSION, SUMMARY,   \
                                              &holdfast_register_guarded};                                      \
  }                                                                                                             \
  extern "C" HOLDFAST_VISIBLE const holdfast_plugin_v1* holdfast_plugin_query_v1() { return &kHoldfastPlugin; } \
  static void holdfast_register([[maybe_unused]] ::holdfast::Registrar& registrar)
