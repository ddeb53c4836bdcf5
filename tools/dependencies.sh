# SPDX-License-Identifier: Apache-2.0
# Sourced by ./run and .ci/run: finds what a build needs, and installs what is missing.

# What is needed, one line each: group, how it is looked for, its Debian and Ubuntu package.
# cmd: a program; hdr: a header of the C++ compiler; fuzzer: clang's run-time libraries.
needs='
base  cmd:c++                      g++
base  cmd:cmake                    cmake
base  cmd:ninja                    ninja-build
base  cmd:python3                  python3
base  hdr:CLI/CLI.hpp              libcli11-dev
base  hdr:nlohmann/json.hpp        nlohmann-json3-dev
base  hdr:fmt/core.h               libfmt-dev
base  hdr:xxhash.h                 libxxhash-dev
base  hdr:hwy/highway.h            libhwy-dev
base  cmd:pkg-config              pkg-config
base  hdr:libavcodec/avcodec.h     libavcodec-dev
base  hdr:libavformat/avformat.h   libavformat-dev
base  hdr:libavutil/avutil.h       libavutil-dev
base  hdr:libswscale/swscale.h     libswscale-dev
base  hdr:png.h                    libpng-dev
test  hdr:gtest/gtest.h            libgtest-dev
test  hdr:gmock/gmock.h            libgmock-dev
bench hdr:benchmark/benchmark.h    libbenchmark-dev
bench venv:                        python3-venv
format cmd:clang-format            clang-format
lint  cmd:clang-tidy               clang-tidy
clang cmd:clang++                  clang
clang fuzzer:                      libclang-rt-dev
'

say() { printf '%s\n' "$*"; }
fail() {
  local code=$1
  shift
  printf 'error: %s\n' "$*" >&2
  exit "$code"
}

have() {
  local kind=${1%%:*} what=${1#*:}
  case $kind in
    cmd) command -v "$what" >/dev/null ;;
    hdr)
      command -v c++ >/dev/null &&
        printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$what" | c++ -E -x c++ - >/dev/null 2>&1
      ;;
    venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    fuzzer)
      printf 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }\n' |
        clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null 2>/dev/null
      ;;
  esac
}

# Prints the packages that the groups in $* lack here.
missing_packages() {
  local group check package
  while read -r group check package; do
    [[ -n $group && " $* " == *" $group "* ]] || continue
    have "$check" || printf '%s\n' "$package"
  done <<<"$needs"
}

on_debian() {
  [[ -r /etc/os-release ]] && command -v apt-get >/dev/null &&
    (. /etc/os-release && [[ " ${ID:-} ${ID_LIKE:-} " == *" debian "* || ${ID:-} == ubuntu ]])
}

# ensure_packages GROUP...: installs what is missing, or says what to install and exits 3.
ensure_packages() {
  local missing as_root=()
  missing=$(missing_packages "$@" | sort -u)
  if [[ -n $missing ]]; then
    # ccache makes the second build quick; nothing fails without it.
    command -v ccache >/dev/null || missing="$missing ccache"
    missing=$(printf '%s ' $missing)
    if ! on_debian; then
      fail 3 "this machine lacks what these Debian packages hold: $missing- install their equivalents and run this again"
    fi
    if [[ $(id -u) != 0 ]]; then
      if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
      else
        say "Some packages are missing. Please run this line, then ./run again:"
        say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
        exit 3
      fi
    fi
    say "Installing: $missing"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
      tail -n 15 "$log" >&2
      rm -f "$log"
      fail 3 "apt-get could not install: $missing"
    fi
    rm -f "$log"
    missing=$(missing_packages "$@" | sort -u)
    [[ -z $missing ]] || fail 3 "still missing after the installation: $(printf '%s ' $missing)"
  fi
  local version
  version=$(cmake --version | awk 'NR == 1 { print $3 }')
  if [[ $(printf '3.25\n%s\n' "$version" | sort -V | head -n 1) != 3.25 ]]; then
    fail 3 "cmake $version is too old: 3.25 or newer is needed (Debian 12, Ubuntu 24.04, or cmake from PyPI)"
  fi
}

# How many compilers at once: one a processor, and 1.5 GiB of memory for each.
build_jobs() {
  local processors memory
  processors=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null)
  [[ -n $memory && $memory -lt $processors ]] && processors=$memory
  ((processors > 0)) || processors=1
  printf '%s\n' "$processors"
}

# configure FOLDER ARGS...: quiet; shows the end of the log where it fails. Arguments in the
# environment's OFFRAMP_CMAKE_ARGS come last.
configure() {
  local folder=$1 launcher=()
  shift
  mkdir -p "$folder"
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  if ! cmake -S . -B "$folder" -G Ninja "${launcher[@]}" "$@" ${OFFRAMP_CMAKE_ARGS:-} >"$folder/configure.log" 2>&1; then
    tail -n 30 "$folder/configure.log" >&2
    fail 3 "cmake could not set up $folder (all of it: $folder/configure.log)"
  fi
}

# build FOLDER TARGETS...: shows ninja's one line of progress on a terminal, nothing elsewhere.
build() {
  local folder=$1
  shift
  if [[ -t 1 ]]; then
    ninja -C "$folder" -j "$(build_jobs)" "$@" || fail 3 "the build failed: see above"
  elif ! ninja -C "$folder" -j "$(build_jobs)" "$@" >"$folder/build.log" 2>&1; then
    grep -aE -A 12 'FAILED|error:' "$folder/build.log" | head -n 60 >&2
    fail 3 "the build failed (all of it: $folder/build.log)"
  fi
}
