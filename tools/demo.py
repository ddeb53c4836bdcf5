#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs, verifies, restores and compares real tensors with the command line tool, and prints a table.

    ./run demo [FILE.safetensors ...]       the files of data/ where none is named

Everything it makes stays in out/demo. Exit 1 where any tensor comes back different.
"""
import argparse
import filecmp
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "build" / "bin" / "offramp"
OUT = ROOT / "out" / "demo"
CODECS = ("exact", "exact-dense")
ROUNDS = 5  # the files are small: the best of a few runs says more than one


def offramp(*args, accepted=(0,)):
    """Runs the tool and returns what it prints as JSON; ends the demo where it fails."""
    command = [str(TOOL), *map(str, args), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in accepted:
        sys.exit(f"error: `{' '.join(command)}` ended with exit code {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def fastest(*args):
    """The report of the quickest of a few runs."""
    return min((offramp(*args) for _ in range(ROUNDS)), key=lambda report: report["seconds"])


def run_file(source, codec):
    archive = OUT / f"{source.stem}.{codec}.ofr"
    restored = OUT / f"{source.stem}.{codec}.safetensors"
    packed = fastest("pack", source, archive, "--codec", codec, "--overwrite")
    offramp("verify", archive)
    unpacked = fastest("unpack", archive, restored, "--overwrite")
    diff = offramp("diff", source, restored, accepted=(0, 1))
    same_file = filecmp.cmp(source, restored, shallow=False)
    size = source.stat().st_size
    return {
        "file": source.name,
        "tensors": packed["tensors"],
        "codec": codec,
        "size": size,
        "packed": archive.stat().st_size,
        "ratio": size / archive.stat().st_size,
        "pack": size / packed["seconds"] / 1e9,
        "unpack": size / unpacked["seconds"] / 1e9,
        "equal": bool(diff["bit_equal"]) and same_file,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    files = args.files or sorted((ROOT / "data").glob("*.safetensors"))
    if not files:
        sys.exit("error: data/ holds no .safetensors file; name one: ./run demo FILE.safetensors")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)

    print("\nEach file is packed, checked, restored and compared bit by bit.\n")
    head = f"{'file':26} {'tensors':>7}  {'codec':12} {'size':>9} {'packed':>9} {'ratio':>6} {'pack':>10} {'unpack':>10}  restored"
    print(head)
    print("-" * len(head))
    rows = []
    for source in files:
        for codec in CODECS:
            row = run_file(source, codec)
            rows.append(row)
            print(
                f"{row['file']:26.26} {row['tensors']:7}  {row['codec']:12} {row['size'] / 1e6:6.2f} MB {row['packed'] / 1e6:6.2f} MB"
                f" {row['ratio']:6.3f} {row['pack']:5.2f} GB/s {row['unpack']:5.2f} GB/s"
                f"  {'bit-equal' if row['equal'] else 'DIFFERS'}",
                flush=True,
            )
    print(
        f"\nratio     size of the file over size of the archive, everything counted\n"
        f"pack      original bytes a second, reading and writing included; best of {ROUNDS} runs\n"
        f"          (files this small mostly measure the start: ./run bench has large ones)\n"
        f"restored  every tensor bit for bit, and the file byte for byte\n"
        f"\nThe archives (.ofr) and the restored files are in {OUT.relative_to(ROOT)}/."
        f"\nLook into one:  build/bin/offramp info {(OUT / (files[0].stem + '.exact.ofr')).relative_to(ROOT)}"
    )
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
