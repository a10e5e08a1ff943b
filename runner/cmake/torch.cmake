include_guard(GLOBAL)
# LibTorch as one interface target, and the precompiled header that every torch .cpp of the tree shares.
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

add_library(holdfast_torch_pch STATIC ${CMAKE_CURRENT_LIST_DIR}/torch_pch.cpp)
target_link_libraries(holdfast_torch_pch PRIVATE holdfast_torch)
_holdfast_common(holdfast_torch_pch)  # the same flags as its users, or GCC refuses the header
target_precompile_headers(holdfast_torch_pch PRIVATE <torch/torch.h> <functional> <map> <memory> <optional> <string> <vector>)
