# The CUDA device and its kernels. With OFFRAMP_ENABLE_CUDA every .cu under src/, and every .cpp in a
# folder named cuda/, is compiled into the library. The CUDA runtime is linked statically and finds
# the driver at run time: the same program works where there is no GPU and no driver.
if(OFFRAMP_ENABLE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "OFFRAMP_ENABLE_CUDA is on, but there is no nvcc: put it on PATH, name it in "
                        "CUDACXX, or leave the option off")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  # CMake 3.25 does not know that nvcc takes C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  enable_language(CUDA)
  find_package(CUDAToolkit 13.0 REQUIRED)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_SEPARABLE_COMPILATION OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  # Source lines for the profilers; no cost at run time.
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
  # Kernels call the format's constexpr functions: the same that the host calls.
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  # Everything that holds CUDA code or tests it: the target to compile all of it.
  add_custom_target(cuda_code)
endif()

# offramp_cuda_sources(sources) completes a list of a folder's sources by its CUDA ones, or drops
# those that need CUDA.
function(offramp_cuda_sources list)
  set(sources)
  foreach(source ${${list}})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE place)
    cmake_path(RELATIVE_PATH place BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    if(OFFRAMP_ENABLE_CUDA OR NOT place MATCHES "(^|/)cuda/")
      list(APPEND sources "${source}")
    endif()
  endforeach()
  if(OFFRAMP_ENABLE_CUDA)
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cu")
    list(APPEND sources ${kernels})
  endif()
  set(${list} "${sources}" PARENT_SCOPE)
endfunction()
