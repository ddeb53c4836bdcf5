# OFFRAMP_CARRY builds programs that run on another machine with nothing but its C library and, for
# the GPU, its NVIDIA driver: all lie in bin/ in the build folder, without debug information, and the
# shared libraries they need in bin/lib. Carry bin/; run tests from the repository's root, where they
# find data/.
option(OFFRAMP_CARRY "Build programs that can be carried to another machine" OFF)

# Where test programs look for the repository's data/.
set(OFFRAMP_DATA_DIR "${PROJECT_SOURCE_DIR}/data")
if(OFFRAMP_CARRY)
  set(OFFRAMP_DATA_DIR data)
  set(CMAKE_BUILD_RPATH "$ORIGIN/lib")
  add_link_options(-s)
endif()

# offramp_carry(fmt::fmt ...) puts the shared libraries behind these targets, and the compiler's, in
# bin/lib, each under the name that programs ask for.
function(offramp_carry)
  set(files)
  foreach(target ${ARGN})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      foreach(config "" _NONE _RELEASE _RELWITHDEBINFO)
        get_target_property(file ${target} IMPORTED_LOCATION${config})
        if(file)
          list(APPEND files "${file}")
          break()
        endif()
      endforeach()
    endif()
  endforeach()
  foreach(name libstdc++.so.6 libgcc_s.so.1)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${name}
      OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND files "${file}")
  endforeach()
  foreach(file ${files})
    file(REAL_PATH "${file}" file)
    execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${file}" OUTPUT_VARIABLE header
      COMMAND_ERROR_IS_FATAL ANY)
    if(NOT header MATCHES "SONAME +([^\n]+)")
      message(FATAL_ERROR "${file} has no name to carry it under")
    endif()
    configure_file("${file}" "${PROJECT_BINARY_DIR}/bin/lib/${CMAKE_MATCH_1}" COPYONLY)
  endforeach()
endfunction()
