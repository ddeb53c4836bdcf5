# offramp_fuzzer(name SOURCE a_fuzz.cpp [CORPUS folder]) makes a fuzz target.
#
# With OFFRAMP_ENABLE_FUZZ (preset `fuzz`) it is a libFuzzer program. In every other build with tests
# it is a program that runs the seed corpus through the target once: the test fuzz_corpus.<name>.
# CORPUS is tests/fuzz/corpus/<name> where nothing is said.
function(offramp_fuzzer name)
  cmake_parse_arguments(ARG "" "SOURCE;CORPUS" "" ${ARGN})
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  endif()
  add_executable(${name} ${ARG_SOURCE})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE offramp offramp_warnings fmt::fmt)
  if(OFFRAMP_ENABLE_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp")
    add_test(NAME fuzz_corpus.${name} COMMAND ${name} "${ARG_CORPUS}")
    set_tests_properties(fuzz_corpus.${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
  endif()
endfunction()
