#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the libFuzzer targets (clang, ASan, UBSan) and runs them, one a processor at a time.
#   tools/fuzz.sh [SECONDS] [TARGET...]      60 seconds each, all targets
# New inputs go to build-fuzz/corpus/NAME; the seeds in tests/fuzz/corpus/NAME are only read. What
# makes a target fail is kept under build-fuzz/findings/. Exit 1 where any target failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/dependencies.sh

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi

ensure_packages base clang
say "Building the fuzz targets ..."
configure build-fuzz --preset fuzz
build build-fuzz

targets=("$@")
if [[ ${#targets[@]} == 0 ]]; then
  for source in tests/fuzz/*_fuzz.cpp; do
    [[ -e $source ]] && targets+=("$(basename "$source" .cpp)")
  done
fi
if [[ ${#targets[@]} == 0 ]]; then
  fail 1 "tests/fuzz has no fuzz target"
fi

fuzz_one() {
  local name=$1 seconds=$2
  local corpus=build-fuzz/corpus/$name findings=build-fuzz/findings/$name log=build-fuzz/$name.log
  local seeds=() max_len=65536
  mkdir -p "$corpus" "$findings"
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  if "build-fuzz/fuzz/$name" -max_total_time="$seconds" -max_len="$max_len" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    printf '%-28s ok      %s runs, coverage %s, %s inputs kept\n' "$name" \
      "$(awk '/stat::number_of_executed_units/ { print $2 }' "$log")" \
      "$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2)" "$(find "$corpus" -type f | wc -l)"
  else
    printf '%-28s FAILED  see %s and %s\n' "$name" "$log" "$findings"
    grep -aE -m 3 'ERROR|runtime error|SUMMARY' "$log" || tail -n 5 "$log"
    return 1
  fi
}
export -f fuzz_one

say "Fuzzing ${#targets[@]} targets for $seconds s each ..."
if ! printf '%s\0' "${targets[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'fuzz_one {} '"$seconds"; then
  fail 1 "a fuzz target failed"
fi
say "fuzz: ${#targets[@]} targets, no findings"
