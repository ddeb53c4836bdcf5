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


def steps(trace):
    """Seconds that each step of a job took, from its trace."""
    seconds = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X":
            seconds[event["name"]] = seconds.get(event["name"], 0) + event["dur"] / 1e6
    return seconds


def best_steps(*args):
    """The report of a job run a few times, and the best time of each of its steps."""
    trace, best = OUT / "trace.json", {}
    for _ in range(ROUNDS):
        done = offramp(*args, "--overwrite", "--trace", trace)
        for step, seconds in steps(trace).items():
            best[step] = min(seconds, best.get(step, seconds))
    return done, best


def run_file(source, codec):
    archive = OUT / f"{source.stem}.{codec}.ofr"
    restored = OUT / f"{source.stem}.{codec}.safetensors"
    packed, pack_steps = best_steps("pack", source, archive, "--codec", codec)
    offramp("verify", archive)
    _, unpack_steps = best_steps("unpack", archive, restored)
    diff = offramp("diff", source, restored, accepted=(0, 1))
    same_file = filecmp.cmp(source, restored, shallow=False)
    rate = {name: packed["raw_bytes"] / seconds / 1e9
            for name, seconds in (("read", pack_steps["read"]), ("encode", pack_steps["encode"]),
                                  ("write", pack_steps["write"]), ("decode", unpack_steps["decode"]))}
    return {
        "file": source.name,
        "tensors": packed["tensors"],
        "codec": codec,
        "size": source.stat().st_size,
        "packed": archive.stat().st_size,
        "ratio": source.stat().st_size / archive.stat().st_size,
        "rate": rate,
        "equal": bool(diff["bit_equal"]) and same_file,
    }


def show_link(source):
    """What crosses the link between this machine and its GPU, raw and coded; or why nothing does."""
    bench = ROOT / "build" / "bin" / "link_bench"
    if not bench.exists():
        print("\nThe link to a GPU is not shown: it takes a GPU and nvcc (docs/guide/cuda.md).")
        return True
    print("\nThe link to the GPU: 1 GiB made of", source.name, flush=True)
    return subprocess.run([str(bench), str(source), "--quick"], check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    files = args.files or sorted((ROOT / "data").glob("*.safetensors"))
    if not files:
        sys.exit("error: data/ holds no .safetensors file; name one: ./run demo FILE.safetensors")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)

    print("\nEach file is packed, verified, restored and compared bit by bit.\n")
    head = (f"{'file':24} {'tensors':>7}  {'codec':11} {'size':>8} {'packed':>8} {'ratio':>6}"
            f" {'read':>6} {'encode':>6} {'write':>6} {'decode':>6}  restored")
    print(f"{'':68} {'--------- GB/s ----------':27}\n{head}\n{'-' * len(head)}")
    rows = []
    for source in files:
        for codec in CODECS:
            row = run_file(source, codec)
            rows.append(row)
            print(f"{row['file']:24.24} {row['tensors']:7}  {row['codec']:11}"
                  f" {row['size'] / 1e6:5.2f} MB {row['packed'] / 1e6:5.2f} MB {row['ratio']:6.3f} " + " ".join(f"{rate:6.2f}" for rate in row["rate"].values()) +
                  f"  {'bit-equal' if row['equal'] else 'DIFFERS'}", flush=True)
    (OUT / "trace.json").unlink()
    example = (OUT / f"{files[0].stem}.{CODECS[0]}.ofr").relative_to(ROOT)
    print(f"""
ratio     size of the file over size of the archive, everything counted
GB/s      1e9 bytes of the original a second in each step of the job, best of {ROUNDS} runs; the steps
          run at once, so the slowest sets the pace. ./run bench measures on large files
restored  every tensor bit for bit, and the file byte for byte

The archives (.ofr) and the restored files are in {OUT.relative_to(ROOT)}/. Look into one:
  build/bin/offramp info {example}""")
    exact_on_gpu = show_link(next((path for path in files if "kv" in path.name), files[0]))
    return 0 if exact_on_gpu and all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
