# Installs the library, its headers and the package that find_package(offramp) reads.
include(CMakePackageConfigHelpers)

install(TARGETS offramp EXPORT offramp_targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
set(without)
if(NOT OFFRAMP_ENABLE_CUDA)
  set(without PATTERN "offramp/cuda" EXCLUDE)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/offramp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${without})
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/offramp")
install(EXPORT offramp_targets NAMESPACE offramp:: FILE offramp-targets.cmake
  DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/offramp-config.cmake.in"
  "${PROJECT_BINARY_DIR}/offramp-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/offramp-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/offramp-config.cmake"
              "${PROJECT_BINARY_DIR}/offramp-config-version.cmake" DESTINATION "${package_dir}")
