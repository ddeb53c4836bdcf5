#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`offramp pack` of one large file, against the slowest of its steps alone, and its memory.

The file is tiled from the given ones so that no two tensors are equal (bench/system/pack_stages.cpp
says how). It lies in memory (/dev/shm) unless --dir names another folder. Each round takes turns:
read alone, encode alone, write alone, then the whole command; wall times, processor time and peak
memory are the operating system's. The steps alone make the calls that the command makes: one thread
reads and one writes, in pieces of the mean size of the command's, and as many threads code. What is
written alone is one record again and again, which stays in that processor's cache; "write, new bytes"
takes 256 MiB in turn, as what others coded is not in it. On few
processors the steps compete for them: no order of the three can take less than their processor time
together over the processors, so that is shown too.

It needs Python and what a build with OFFRAMP_ENABLE_BENCH left in BUILD/bin: offramp, pack_stages.

    bench/pack_bench.py [--bin BUILD/bin] [--gib 4] [--rounds 3] [--processors N] [--threads N]
                        [--codec NAME] [--dir FOLDER] [--out FOLDER] [FILE.safetensors ...]
"""
import argparse
import filecmp
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import report

BIN = report.ROOT / "build" / "bin"
CODECS = ("exact", "exact-dense")
CHUNK = 8 << 20  # the command's default


def stage(*args):
    done = subprocess.run([BIN / "pack_stages", *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: pack_stages {args[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def command(*args):
    """Runs the tool; wall seconds, processor seconds, peak memory in bytes."""
    start = time.perf_counter()
    child = subprocess.Popen([BIN / "offramp", *map(str, args), "--quiet", "--overwrite"])
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"error: offramp {args[0]} ended with exit code {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def available():
    """Bytes of memory that programs can have."""
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


def fill(path, left):
    """Writes a file until no more than `left` bytes of memory are free."""
    zeros = bytes(8 << 20)
    with open(path, "wb", buffering=0) as file:
        while available() > left + len(zeros):
            file.write(zeros)


class Memory:
    """Where the files lie in memory: what is free besides what a step needs is kept in use, and what it
    needs is used and freed again right before it.

    A virtual machine gives memory that is free for some seconds back to its host, and gets it anew page
    by page, which takes several times as long as writing to it.
    """

    spare = 512 << 20

    def __init__(self, folder, needed):
        self.folder = folder if str(folder).startswith("/dev/shm") else None
        self.needed = needed

    def __enter__(self):
        if self.folder:
            fill(self.folder / "held.tmp", self.needed + 2 * self.spare)
        return self

    def __exit__(self, *_):
        if self.folder:
            (self.folder / "held.tmp").unlink()

    def make_ready(self):
        if self.folder:
            fill(self.folder / "ready.tmp", self.spare)
            (self.folder / "ready.tmp").unlink()


def measure(out, codec, source, folder, args):
    archive, processors, rounds = folder / "out.ofr", len(os.sched_getaffinity(0)), args.rounds
    threads = args.threads or processors
    pack = ("pack", source, archive, "--codec", codec, "--threads", threads)
    first = subprocess.run([BIN / "offramp", *map(str, pack), "--json"], capture_output=True, text=True)
    if first.returncode:
        sys.exit(f"error: offramp pack: {first.stderr.strip()}")
    counters = json.loads(first.stdout)["counters"]
    slots = counters["host_slots"] + counters["coded_slots"]
    size, packed = source.stat().st_size, archive.stat().st_size
    record = max(1, packed // counters["parts_out"])
    archive.unlink()

    def write(*records):
        memory.make_ready()
        return stage("write", folder / "write.tmp", packed, record, *records)

    walls = {"read": [], "encode": [], "write": [], "write, new bytes": [], "pack": []}
    over, over_floor, busy, peaks = [], [], [], []
    with Memory(folder, packed) as memory:
        for _ in range(rounds):
            stages = {
                "read": stage("read", source),
                "encode": stage("encode", source, codec, threads),
                "write": write(),
            }
            walls["write, new bytes"].append(write(max(1, (256 << 20) // record))["seconds"])
            alone = {name: done["seconds"] for name, done in stages.items()}
            floor = sum(done["processor"] for done in stages.values()) / processors
            memory.make_ready()
            wall, processor, peak = command(*pack)
            archive.unlink()
            for name, seconds in {**alone, "pack": wall}.items():
                walls[name].append(seconds)
            over.append(wall / max(alone.values()))
            over_floor.append(wall / max(floor, *alone.values()))
            busy.append(processor)
            peaks.append(peak)

    case = f"{codec}, {size / 2**30:.2f} GiB, {threads} threads"
    if processors != threads:
        case += f" on {processors} processors"
    out.say(f"\n{case}: ratio {size / packed:.4f}")
    out.add(case, "ratio", size / packed, "1")
    for name, seconds in walls.items():
        rates = [size / each / 1e9 for each in seconds]
        out.add_spread(case, f"{name} wall", seconds, "s")
        out.add_spread(case, f"{name} rate", rates, "GB/s")
        alone = "" if name == "pack" or "," in name else " alone"
        out.say(f"  {name + alone:16} {report.spread(seconds, 3)} s   {report.spread(rates)} GB/s")
    out.add_spread(case, "pack against the slowest step", over, "x")
    out.add_spread(case, "pack against the least possible", over_floor, "x")
    out.add_spread(case, "pack processor time", busy, "s")
    out.add_spread(case, "pack peak memory", peaks, "B")
    bound = slots * CHUNK + (64 << 20)
    out.add(case, "pack memory bound", bound, "B")
    out.say(f"  pack against the slowest step alone: {report.spread(over, 3)} x;"
            f" against the least these processors allow: {report.spread(over_floor, 3)} x")
    out.say(f"  processor time {statistics.median(busy):.2f} s; peak memory {max(peaks) / 2**20:.1f} MiB"
            f" ({slots} slots x 8 MiB + 64 MiB = {bound / 2**20:.0f} MiB)")

    command(*pack)
    restored = folder / "restored.safetensors"
    unpack_walls, unpack_peaks = [], []
    with Memory(folder, size) as memory:
        for _ in range(rounds):
            restored.unlink(missing_ok=True)
            memory.make_ready()
            wall, _, peak = command("unpack", archive, restored, "--threads", threads)
            unpack_walls.append(wall)
            unpack_peaks.append(peak)
    if not filecmp.cmp(source, restored, shallow=False):
        sys.exit(f"error: restored from {codec}, the file differs")
    rates = [size / each / 1e9 for each in unpack_walls]
    out.add_spread(case, "unpack wall", unpack_walls, "s")
    out.add_spread(case, "unpack rate", rates, "GB/s")
    out.add_spread(case, "unpack peak memory", unpack_peaks, "B")
    out.say(f"  {'unpack':16} {report.spread(unpack_walls, 3)} s   {report.spread(rates)} GB/s"
            f"   peak memory {max(unpack_peaks) / 2**20:.1f} MiB; the file is equal")
    restored.unlink()
    archive.unlink()


def main():
    global BIN
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", type=pathlib.Path, default=BIN, help="where offramp and pack_stages are (build/bin)")
    parser.add_argument("--processors", type=int, help="use only so many of the processors")
    parser.add_argument("--threads", type=int, help="that code (one for each processor)")
    parser.add_argument("--codec", action="append", help="exact or exact-dense (both)")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/dev/shm"))
    parser.add_argument("--out", type=pathlib.Path, default=report.ROOT / "out" / "bench")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    BIN = args.bin
    if not all((BIN / name).exists() for name in ("pack_stages", "offramp")):
        report.skip("pack", f"{BIN / 'pack_stages'} is not built: ./run bench builds it")
    if args.processors:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.processors])
    size = int(args.gib * 2**30)
    if not args.dir.is_dir() or shutil.disk_usage(args.dir).free < 3 * size:
        report.skip("pack", f"{args.dir} has no room for three files of {args.gib} GiB: try --gib 1 or --dir")
    free = available()
    if str(args.dir).startswith("/dev/shm") and free < 3 * size + (2 << 30):
        report.skip("pack", f"{free >> 30} GiB of memory are free, {args.gib} GiB three times do not fit: try --gib 1")

    out = report.Report("pack", args.out, report.shown_command())
    out.say(f"files in {args.dir}")
    with tempfile.TemporaryDirectory(prefix="offramp-bench-", dir=args.dir) as folder:
        folder = pathlib.Path(folder)
        source = folder / "source.safetensors"
        stage("make", source, size, *(args.files or report.default_files()))
        for codec in args.codec or CODECS:
            measure(out, codec, source, folder, args)
    out.write()


if __name__ == "__main__":
    main()
