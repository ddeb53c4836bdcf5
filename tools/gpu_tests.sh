#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs carried test programs (preset cuda-carry) on a machine with a GPU, from the repository's root.
# Each test has a process of its own, so that one that hangs or loses the GPU's context stops no
# other. What it prints is what bench/baseline/ keeps.
#   tools/gpu_tests.sh [-f FILTER] [-t SECONDS] [-w "WRAPPER ARGS"] PROGRAM...
#   tools/gpu_tests.sh build-carry/bin/cuda_*_test
#   tools/gpu_tests.sh -w "compute-sanitizer --error-exitcode 9" build-carry/bin/cuda_device_test
set -uo pipefail

filter='*' seconds=120 wrapper=''
while getopts f:t:w: option; do
  case $option in
    f) filter=$OPTARG ;;
    t) seconds=$OPTARG ;;
    w) wrapper=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || { echo "usage: $0 [-f FILTER] [-t SECONDS] [-w WRAPPER] PROGRAM..." >&2; exit 2; }

printf 'date: %s\n' "$(date -u '+%Y-%m-%d %H:%M UTC')"
machine=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | paste -sd ';')
printf 'machine: %s\n' "${machine:-no GPU}"
printf 'commit: %s\n' "${OFFRAMP_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"
printf 'wrapper: %s\n' "${wrapper:-none}"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0
for program in "$@"; do
  printf '\n%s\n' "$(basename "$program")"
  # A suite's name ends in a dot; its tests are indented. What follows a # is a comment.
  mapfile -t tests < <("$program" --gtest_list_tests --gtest_filter="$filter" |
    sed 's/ *#.*//' | awk '/^[^ ].*\.$/ { suite = $1; next } /^  / { print suite $1 }')
  if [[ ${#tests[@]} == 0 ]]; then
    printf '  FAILED  it lists no test\n'
    failed=$((failed + 1))
  fi
  for test in "${tests[@]}"; do
    start=$(date +%s%N)
    # shellcheck disable=SC2086  # the wrapper is words
    timeout -k 10 "$seconds" $wrapper "$program" --gtest_filter="$test" >"$log" 2>&1
    code=$?
    took=$((($(date +%s%N) - start) / 1000000))
    if [[ $code == 0 ]] && grep -q '^\[  SKIPPED \]' "$log"; then
      skipped=$((skipped + 1))
      printf '  skipped %s: %s\n' "$test" "$(grep -A 1 ': Skipped$' "$log" | tail -n 1)"
    elif [[ $code == 0 ]]; then
      passed=$((passed + 1))
      printf '  ok      %s (%s ms)\n' "$test" "$took"
    else
      failed=$((failed + 1))
      [[ $code == 124 || $code == 137 ]] && why="did not end in $seconds s" || why="exit code $code"
      printf '  FAILED  %s: %s\n' "$test" "$why"
      tail -n 25 "$log" | sed 's/^/    | /'
    fi
  done
done
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[[ $failed == 0 ]]
