# Whether the Python package can be built here: OFFRAMP_ENABLE_PYTHON's value where nobody gave one.
# A build with sanitizers has none: Python itself is not built with them.
set(OFFRAMP_PYTHON_DEFAULT OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT OFFRAMP_SANITIZE AND NOT OFFRAMP_CARRY AND NOT DEFINED OFFRAMP_ENABLE_PYTHON)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    execute_process(COMMAND "${Python_EXECUTABLE}" -c "import nanobind, numpy, pytest"
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(OFFRAMP_PYTHON_DEFAULT ON)
    endif()
  endif()
endif()
