#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`offramp frames` of a real clip, decoded, scaled and encoded by x264, against the ffmpeg program doing the same.

The clip is repeated without coding it again, so that a job takes some seconds. Both take turns; wall and processor time
are the operating system's, of the whole program from start to end. Both decode with as many threads as they choose, scale
bicubically, and give x264 the same preset and quality; frames are counted by ffprobe and the two results compared by
their PSNR against each other and by their size.

    bench/frames_bench.py [--tool BUILD/bin/offramp] [--rounds 9] [--repeat 8] [--size 640x360] [--preset veryfast]
                          [--crf 23] [--out FOLDER] CLIP
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import report


def run(*args):
    """(wall, processor seconds) of a program that must succeed."""
    start = time.monotonic()
    before = os.times()
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{args[0]} failed: {done.stderr[-500:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def frames_of(path):
    out = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-select_streams", "v", "-show_entries",
                          "stream=nb_read_packets", "-of", "csv=p=0", path], capture_output=True, text=True).stdout
    return int(out.strip().rstrip(","))


def psnr(a, b):
    err = subprocess.run(["ffmpeg", "-nostdin", "-i", a, "-i", b, "-lavfi", "psnr", "-f", "null", "-"], capture_output=True,
                         text=True).stderr
    found = re.search(r"average:(\S+)", err)
    return float(found.group(1)) if found else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=report.TOOL)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--preset", default="veryfast")
    parser.add_argument("--crf", default="23")
    parser.add_argument("--out", default=report.ROOT / "out" / "bench")
    parser.add_argument("clip")
    args = parser.parse_args()
    for program in ("ffmpeg", "ffprobe"):
        if not shutil.which(program):
            report.skip("frames", f"there is no {program}")

    result = report.Report("frames", args.out, report.shown_command())
    with tempfile.TemporaryDirectory(prefix="offramp-frames-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        folder = pathlib.Path(name)
        clip, ours, theirs = folder / "clip.mp4", folder / "offramp.mp4", folder / "ffmpeg.mp4"
        run("ffmpeg", "-v", "error", "-stream_loop", args.repeat - 1, "-i", args.clip, "-c", "copy", "-an", clip)
        jobs = {
            "offramp": [args.tool, "frames", clip, ours, "--size", args.size, "--encoder", "libx264", "--preset", args.preset,
                        "--crf", args.crf, "--overwrite", "-q"],
            "ffmpeg": ["ffmpeg", "-v", "error", "-y", "-i", clip, "-vf", "scale=" + args.size.replace("x", ":"), "-c:v",
                       "libx264", "-preset", args.preset, "-crf", args.crf, theirs],
        }
        walls, cpus = {who: [] for who in jobs}, {who: [] for who in jobs}
        for number in range(args.rounds + 1):
            order = list(jobs) if number % 2 else list(jobs)[::-1]
            for who in order:
                wall, cpu = run(*jobs[who])
                if number:  # the first round warms up
                    walls[who].append(wall)
                    cpus[who].append(cpu)
        counts = {"clip": frames_of(clip), "offramp": frames_of(ours), "ffmpeg": frames_of(theirs)}
        result.say(f"{counts['clip']} frames, scaled to {args.size}, x264 {args.preset} crf {args.crf}; {args.rounds} rounds in turns")
        result.say(f"{'':10} {'wall s: min / median / max':28} {'processor s: min / median / max':32} frames   bytes")
        for who, path in (("offramp", ours), ("ffmpeg", theirs)):
            result.add_spread(who, "wall", walls[who], "s")
            result.add_spread(who, "processor", cpus[who], "s")
            result.add(who, "frames", counts[who], "frames")
            result.add(who, "bytes", path.stat().st_size, "B")
            result.say(f"{who:10} {report.spread(walls[who]):28} {report.spread(cpus[who]):32} {counts[who]:6} {path.stat().st_size:8}")
        pairs = [a / b for a, b in zip(walls["offramp"], walls["ffmpeg"])]
        result.add_spread("offramp", "wall_over_ffmpeg", pairs, "x")
        result.add("offramp", "processor_over_ffmpeg", statistics.median(cpus["offramp"]) / statistics.median(cpus["ffmpeg"]), "x")
        result.add("offramp", "psnr_to_ffmpeg", psnr(ours, theirs), "dB")
        result.say(f"offramp / ffmpeg, round by round: wall {report.spread(pairs, 3)}, processor "
                   f"{statistics.median(cpus['offramp']) / statistics.median(cpus['ffmpeg']):.3f} (medians); "
                   f"PSNR of one against the other {psnr(ours, theirs):.1f} dB")
    result.write()


if __name__ == "__main__":
    main()
