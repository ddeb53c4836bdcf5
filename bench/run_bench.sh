#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the benchmarks; ./run bench starts it, with what they need installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/dependencies.sh

usage() {
  cat <<'END'
usage: ./run bench [--keep] [--no-peers] [NAME...] [-- FILE.safetensors ...]

  ratio    size of whole files, packed, against zstd, lz4, blosc2, ZipNN, pcodec
  speed    one core against ZipNN on one thread; two threads against one
  pack     4 GiB through `offramp pack`, against its slowest step alone; memory
  micro    one tile on one core, by instruction set

All of them where no NAME is given, on the files of data/ where none is named. Results go to
out/bench, with --keep to bench/baseline and into README.md. The peers come from PyPI into
build/bench-venv (ZipNN brings PyTorch, some GB); --no-peers leaves out those that are not there.
END
}

out=out/bench
peers=1
names=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --keep) out=bench/baseline ;;
    --no-peers) peers=0 ;;
    --)
      shift
      break
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    ratio | speed | pack | micro) names+=("$1") ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done
[[ ${#names[@]} -gt 0 ]] || names=(ratio speed pack micro)

say "Building offramp and its benchmarks ..."
configure build -DCMAKE_BUILD_TYPE=Release -DOFFRAMP_ENABLE_BENCH=ON
build build bin/offramp bench/all

python=python3
if [[ $peers == 1 && " ${names[*]} " =~ " "(ratio|speed)" " ]]; then
  python=build/bench-venv/bin/python
  if ! cmp -s bench/requirements.txt build/bench-venv/requirements.txt; then
    say "Installing the peers from PyPI ..."
    python3 -m venv --system-site-packages build/bench-venv
    if "$python" -m pip install --quiet -r bench/requirements.txt >build/bench-venv/pip.log 2>&1; then
      cp bench/requirements.txt build/bench-venv/
    else
      tail -n 5 build/bench-venv/pip.log >&2
      say "Some peers could not be installed; what is missing is left out and named."
    fi
  fi
fi
for name in "${names[@]}"; do
  say
  "$python" "bench/${name}_bench.py" --out "$out" "$@"
done
if [[ $out == bench/baseline ]]; then
  python3 tools/readme_table.py
  say "README.md has the new figures"
fi
