# The CUDA device. Every .cu under src/ is compiled where OFFRAMP_ENABLE_CUDA is on.
file(GLOB_RECURSE offramp_cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cu")

if(OFFRAMP_ENABLE_CUDA)
  if(offramp_cuda_sources)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
  else()
    message(STATUS "OFFRAMP_ENABLE_CUDA is on, but this version has no CUDA sources yet: "
                   "the build has the host device only")
  endif()
endif()
