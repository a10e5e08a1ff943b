# What `cmake --install` lays down, and the package of `find_package(holdfast COMPONENTS sdk)`. Included last by the root.
# `cmake --install build/release --component sdk` installs what plugins are built with, before anything is built.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(package_folder lib/cmake/holdfast)
install(TARGETS holdfast_sdk EXPORT holdfastTargets)
install(EXPORT holdfastTargets NAMESPACE holdfast:: DESTINATION ${package_folder} COMPONENT sdk)
install(DIRECTORY runner/sdk/include/holdfast DESTINATION include COMPONENT sdk FILES_MATCHING PATTERN "*.hpp")
install(FILES runner/cmake/holdfast_plugin.cmake DESTINATION ${package_folder} COMPONENT sdk)
install(DIRECTORY configs DESTINATION share/holdfast PATTERN "runs" EXCLUDE PATTERN "mnist" EXCLUDE PATTERN "*.py" EXCLUDE)
install(FILES LICENSE DESTINATION share/doc/holdfast)
if(EXISTS ${PROJECT_SOURCE_DIR}/schemas)
  install(DIRECTORY schemas DESTINATION share/holdfast)
endif()

if(HOLDFAST_TORCH)
  configure_package_config_file(runner/cmake/holdfastConfig.cmake.in ${PROJECT_BINARY_DIR}/holdfastConfig.cmake
                                INSTALL_DESTINATION ${package_folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
          DESTINATION ${package_folder} COMPONENT sdk)
endif()

# install_program(TARGET FOLDER): for a target that this configuration has.
function(install_program target folder)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION ${folder})
  endif()
endfunction()
install_program(holdfast bin)
install_program(holdfast-worker libexec/holdfast)

# Every plugin below plugins/ (those of the tests stay where they are).
function(install_plugins folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL MODULE_LIBRARY)
      install(TARGETS ${target} LIBRARY DESTINATION lib/holdfast/plugins)
    endif()
  endforeach()
  get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(sub IN LISTS inner)
    install_plugins(${sub})
  endforeach()
endfunction()
if(HOLDFAST_TORCH)
  install_plugins(${PROJECT_SOURCE_DIR}/plugins)
endif()
