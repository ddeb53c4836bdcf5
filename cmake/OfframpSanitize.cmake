# OFFRAMP_SANITIZE=address,undefined builds everything under those sanitizers; the first report ends
# the program, so that no test passes with one.
set(OFFRAMP_SANITIZE "" CACHE STRING "Sanitizers for the whole build, as -fsanitize= takes them")

if(OFFRAMP_SANITIZE)
  add_compile_options(-fsanitize=${OFFRAMP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${OFFRAMP_SANITIZE})
endif()
