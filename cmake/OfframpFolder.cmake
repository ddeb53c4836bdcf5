# One target a folder: offramp_folder(core SOURCES a.cpp LINKS fmt::fmt) makes the object library
# offramp_core and adds it to the library offramp.
function(offramp_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  offramp_cuda_sources(ARG_SOURCES)
  if(NOT ARG_SOURCES)
    return()
  endif()
  if(OFFRAMP_ENABLE_CUDA)
    list(APPEND ARG_LINKS CUDA::cudart_static)
  endif()
  add_library(offramp_${name} OBJECT ${ARG_SOURCES})
  target_include_directories(offramp_${name}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  target_compile_features(offramp_${name} PUBLIC cxx_std_20)
  target_link_libraries(offramp_${name} PRIVATE offramp_warnings PUBLIC ${ARG_LINKS})
  if(OFFRAMP_ENABLE_CUDA)
    target_compile_definitions(offramp_${name} PRIVATE OFFRAMP_HAS_CUDA=1)
  endif()
  set_property(GLOBAL APPEND PROPERTY OFFRAMP_FOLDERS offramp_${name})
  set_property(GLOBAL APPEND PROPERTY OFFRAMP_LINKS ${ARG_LINKS})
endfunction()

# offramp_test(name SOURCES a_test.cpp [LABELS gpu] [LINKS lib]) makes a GoogleTest executable of ctest.
# Label gpu: needs a GPU; gpu2: several (ctest -L gpu runs these too); cuda: CUDA code, but no GPU. One a test.
# The tests find the repository's data/ at OFFRAMP_DATA_DIR: those that are carried, from its root.
function(offramp_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LABELS;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  set(folder)
  if(OFFRAMP_CARRY)
    set(folder WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  endif()
  target_compile_definitions(${name} PRIVATE OFFRAMP_DATA_DIR="${OFFRAMP_DATA_DIR}")
  target_link_libraries(${name} PRIVATE offramp offramp_warnings fmt::fmt GTest::gmock_main ${ARG_LINKS})
  if(OFFRAMP_ENABLE_CUDA AND "${ARG_LABELS}" MATCHES "gpu|cuda")
    add_dependencies(cuda_code ${name})
  endif()
  gtest_discover_tests(${name} ${folder} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}")
endfunction()
