#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of bench/micro for this machine's instruction set and, on x86, for AVX2 alone.

GB/s of original data on one core: minimum, median and maximum of the repetitions.

    bench/micro_bench.py [--repetitions N] [--out FOLDER]
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

import report


def run(program, target, repetitions):
    """Rates of each benchmark of a program, in the order in which it has them."""
    env = {**os.environ, **({"OFFRAMP_BENCH_TARGET": target} if target else {})}
    done = subprocess.run([program, f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.1",
                           "--benchmark_format=json"], capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"error: {program.name} ended with exit code {done.returncode}: {done.stderr.strip()}")
    if done.stdout.startswith("skipped"):
        return done.stdout.strip(), {}
    rates = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row["run_type"] == "iteration":
            rates.setdefault(row["run_name"], []).append(row["bytes_per_second"] / 1e9)
    return "", rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=report.ROOT / "out" / "bench")
    parser.add_argument("files", nargs="*", help="not used: these programs make their data")
    args = parser.parse_args()
    programs = [report.TOOL.parent / path.stem for path in sorted((report.ROOT / "bench" / "micro").glob("*_bench.cpp"))]
    if not programs or not all(program.exists() for program in programs):
        report.skip("micro", "the programs of bench/micro are not built: ./run bench builds them")

    out = report.Report("micro", args.out, report.shown_command())
    targets = ["", "AVX2"] if platform.machine() == "x86_64" else [""]
    for program in programs:
        for target in targets:
            shown = target or "best instruction set"
            reason, rates = run(program, target, args.repetitions)
            out.say(f"\n{program.name}, {shown}" + (f": {reason}" if reason else f"   GB/s min / median / max"))
            for name, values in rates.items():
                out.add_spread(f"{program.name}/{name}, {shown}", "rate", values, "GB/s")
                out.say(f"  {name:40} {report.spread(values):>24}")
    out.write()


if __name__ == "__main__":
    main()
