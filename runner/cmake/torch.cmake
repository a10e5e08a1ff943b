include_guard(GLOBAL)
# LibTorch as one interface target, and the two precompiled headers that the torch .cpp files of the tree share.
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # its configuration warns of a profiler library that no wheel has
find_package(Torch REQUIRED)
unset(CMAKE_MESSAGE_LOG_LEVEL)
if(NOT Torch_VERSION MATCHES "^2\\.(13|14)\\.")
  message(FATAL_ERROR "LibTorch ${Torch_VERSION} was found in ${TORCH_INSTALL_PREFIX}, but holdfast is built and tested with "
                      "2.13.0 (CPU) and 2.14.1 (CUDA). Set CMAKE_PREFIX_PATH to one of these, or run `make setup`.")
endif()
add_library(holdfast_torch INTERFACE)
target_include_directories(holdfast_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(holdfast_torch INTERFACE ${TORCH_LIBRARIES})
set(HOLDFAST_TORCH_VERSION ${Torch_VERSION} CACHE INTERNAL "")

# ATen alone serves all but the files that build modules: 400 MB to load for each file instead of 740.
foreach(header "aten;<ATen/ATen.h>;<ATen/Parallel.h>;<ATen/core/grad_mode.h>" "torch;<torch/torch.h>")
  list(POP_FRONT header name)
  add_library(holdfast_${name}_pch STATIC ${CMAKE_CURRENT_LIST_DIR}/torch_pch.cpp)
  target_link_libraries(holdfast_${name}_pch PRIVATE holdfast_torch)
  _holdfast_common(holdfast_${name}_pch)  # the same flags as its users, or GCC refuses the header
  target_precompile_headers(holdfast_${name}_pch PRIVATE ${header} <functional> <map> <memory> <optional> <string> <vector>)
endforeach()
set(HOLDFAST_PRECOMPILED aten)  # what plugins of the tree take; a folder whose plugins build modules sets torch
