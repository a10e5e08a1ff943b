# holdfast_add_plugin(lstm SOURCES lstm.cpp [LINK target ...]) makes libholdfast_lstm.so. Used in the tree and, through the
# installed package, out of it: the same macro.
include_guard(GLOBAL)

function(holdfast_add_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(target holdfast_plugin_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME holdfast_${name} PREFIX lib CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE holdfast::sdk holdfast_torch ${arg_LINK})
  if(HOLDFAST_PRECOMPILED)  # in the tree: shares the runner's precompiled header and output folder
    target_precompile_headers(${target} REUSE_FROM holdfast_${HOLDFAST_PRECOMPILED}_pch)
    target_compile_options(${target} PRIVATE ${HOLDFAST_WARNINGS})
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HOLDFAST_PLUGIN_OUTPUT_DIRECTORY})
  endif()
endfunction()
