#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size of whole files, packed: offramp's codecs through the command line, and peers on the same bytes.

Ratio is the size of the file over the size of what replaces it, everything counted. A peer that
codes values alone is given all tensors of a file in one call and gets the file's header added as it
is. Each result is restored and compared before it counts.

    bench/ratio_bench.py [--out FOLDER] [FILE.safetensors ...]
"""
import argparse
import filecmp
import json
import pathlib
import subprocess
import sys
import tempfile

import peers
import report


def offramp_size(source, codec, scratch):
    archive, restored = scratch / "a.ofr", scratch / "restored.safetensors"
    for args in (["pack", source, archive, "--codec", codec], ["unpack", archive, restored]):
        done = subprocess.run([report.TOOL, *args, "--overwrite", "--quiet"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: offramp {args[0]} {source}: {done.stderr.strip()}")
    if not filecmp.cmp(source, restored, shallow=False):
        sys.exit(f"error: {source}: restored from {codec}, it differs")
    return archive.stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=report.ROOT / "out" / "bench")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    files = args.files or report.default_files()
    if not report.TOOL.exists():
        report.skip("ratio", "build/bin/offramp is not built: ./run build")

    out = report.Report("ratio", args.out, report.shown_command())
    table = {}
    for source in files:
        header, values, width, dtype = report.safetensors_payload(source)
        size = source.stat().st_size
        column = table.setdefault(source.stem, {})
        with tempfile.TemporaryDirectory() as scratch:
            for codec in ("exact", "exact-dense"):
                column[f"offramp {codec}"] = size / offramp_size(source, codec, pathlib.Path(scratch))
        for name, encode, decode in peers.all_peers(width, dtype):
            coded = encode(bytearray(values))
            if bytes(decode(coded)) != values:
                out.say(f"{source.stem}: {name} does not restore its input: left out")
                continue
            column[name] = size / (header + len(coded))
        for name, ratio in column.items():
            out.add(f"{source.stem}/{name}", "ratio", ratio, "1")

    out.say()
    out.say(f"{'whole-file ratio':22}" + "".join(f"{name:>22.20}" for name in table))
    for name in dict.fromkeys(name for column in table.values() for name in column):
        out.say(f"{name:22}" + "".join(f"{column[name]:22.4f}" if name in column else f"{'-':>22}" for column in table.values()))
    for name, reason in peers.missing.items():
        out.say(f"{name}: skipped: {reason}")
    out.write()


if __name__ == "__main__":
    main()
