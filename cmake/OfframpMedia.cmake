# FFmpeg's libraries and libpng: used where they are found, named where somebody asks for them and they are not.
# offramp_media is the list of their targets; OFFRAMP_HAS_FFMPEG and OFFRAMP_HAS_PNG say which there are.
set(offramp_media)
set(OFFRAMP_HAS_FFMPEG OFF)
set(OFFRAMP_HAS_PNG OFF)
find_package(PkgConfig QUIET)
# What is carried to another machine finds no shared library there.
if(PkgConfig_FOUND AND NOT OFFRAMP_CARRY)
  if(OFFRAMP_ENABLE_VIDEO)
    # FFmpeg 5.1 and newer: channel layouts, colours and frame sides as they are called since then.
    pkg_check_modules(OFFRAMP_FFMPEG QUIET IMPORTED_TARGET
      libavformat>=59.27 libavcodec>=59.37 libavutil>=57.28 libswscale>=6.7)
    if(OFFRAMP_FFMPEG_FOUND)
      set(OFFRAMP_HAS_FFMPEG ON)
      list(APPEND offramp_media PkgConfig::OFFRAMP_FFMPEG)
    endif()
  endif()
  if(OFFRAMP_ENABLE_PNG)
    pkg_check_modules(OFFRAMP_PNG QUIET IMPORTED_TARGET libpng)
    if(OFFRAMP_PNG_FOUND)
      set(OFFRAMP_HAS_PNG ON)
      list(APPEND offramp_media PkgConfig::OFFRAMP_PNG)
    endif()
  endif()
endif()
message(STATUS "offramp: video (FFmpeg) ${OFFRAMP_HAS_FFMPEG}, png (libpng) ${OFFRAMP_HAS_PNG}")
