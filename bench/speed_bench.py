#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of offramp's codecs on one core against ZipNN on one thread, and on two threads against one.

Takes turns: each round times every contender once on the same bytes, in memory and on the same core,
so that a busy or throttled machine slows all alike. GB/s are 1e9 bytes of original data a second: minimum, median and
maximum over the rounds. Round trips are checked before timing.

    bench/speed_bench.py [--rounds N] [--out FOLDER] [FILE.safetensors ...]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import peers
import report

WORKER = report.ROOT / "build" / "bin" / "codec_speed"
CODECS = ("exact", "exact-dense")
TURN_SECONDS = 0.15  # about how long one contender's turn lasts


class Offramp:
    def __init__(self, path, *args):
        self.process = subprocess.Popen([WORKER, path, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what, codec, threads, passes):
        self.process.stdin.write(f"{what} {codec} {threads} {passes}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"error: codec_speed ended with exit code {self.process.wait()}")
        return json.loads(line)

    def turn(self, what, codec, threads):
        """A function that takes one turn and returns its GB/s."""
        first = self.ask(what, codec, threads, 1)
        passes = max(1, round(TURN_SECONDS / max(first["seconds"], 1e-6)))

        def take():
            done = self.ask(what, codec, threads, passes)
            return passes * done["raw"] / done["seconds"] / 1e9
        return take

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def zipnn_turns(values, dtype):
    encode, decode = peers.zipnn(dtype)
    coded = encode(bytearray(values))
    if bytes(decode(coded)) != values:
        sys.exit("error: ZipNN does not restore its input")

    def timed(call, make):
        def take(passes):
            seconds = 0.0
            for _ in range(passes):
                data = make()
                start = time.perf_counter()
                call(data)
                seconds += time.perf_counter() - start
            return passes * len(values) / seconds / 1e9
        rate = take(1)
        passes = max(1, round(TURN_SECONDS * rate * 1e9 / len(values)))
        return lambda: take(passes)
    # ZipNN changes what it is given: the copy is made outside the timed part.
    return timed(encode, lambda: bytearray(values)), timed(decode, lambda: coded)


def rounds_of(turns, count):
    results = {name: [] for name in turns}
    for _ in range(count):
        for name, take in turns.items():
            results[name].append(take())
    return results


def show(out, case, results, baselines):
    """Prints rates, and each against its baseline: the median over the rounds of the quotient."""
    out.say(f"\n{case}")
    out.say(f"  {'':30} {'GB/s min / median / max':>26}   against")
    for name, rates in results.items():
        out.add_spread(f"{case}/{name}", "rate", rates, "GB/s")
        line = f"  {name:30} {report.spread(rates):>26}"
        base = baselines.get(name)
        if base in results:
            quotients = [rate / other for rate, other in zip(rates, results[base])]
            out.add_spread(f"{case}/{name}", f"against {base}", quotients, "x")
            line += f"   {report.spread(quotients)} x {base}"
        out.say(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=report.ROOT / "out" / "bench")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    if not WORKER.exists():
        report.skip("speed", "build/bin/codec_speed is not built: ./run bench builds it")

    out = report.Report("speed", args.out, report.shown_command())
    for source in args.files or report.default_files():
        _, values, _, dtype = report.safetensors_payload(source)
        worker, joined = Offramp(source), Offramp(source, "--join")
        one, baselines = {}, {}
        try:
            for codec in CODECS:
                for each in (worker, joined):
                    each.ask("encode", codec, 1, 1)
                    each.ask("check", codec, 1, 1)
            try:
                one["ZipNN encode"], one["ZipNN decode"] = zipnn_turns(values, dtype)
            except (ImportError, KeyError) as reason:
                out.say(f"{source.stem}: ZipNN skipped: {reason}")
            two = {}
            for codec in CODECS:
                for what in ("encode", "decode"):
                    one[f"{codec} {what}"] = worker.turn(what, codec, 1)
                    baselines[f"{codec} {what}"] = f"ZipNN {what}"
                    two[f"{codec} {what}, 1 thread"] = joined.turn(what, codec, 1)
                    two[f"{codec} {what}, 2 threads"] = joined.turn(what, codec, 2)
                    baselines[f"{codec} {what}, 2 threads"] = f"{codec} {what}, 1 thread"
            processors = os.sched_getaffinity(0)
            for process in (0, worker.process.pid):
                os.sched_setaffinity(process, {min(processors)})
            show(out, f"{source.stem}, one core", rounds_of(one, args.rounds), baselines)
            os.sched_setaffinity(0, processors)
            if len(processors) >= 2:
                show(out, f"{source.stem}, two threads", rounds_of(two, args.rounds), baselines)
            else:
                out.say("two threads: skipped: this machine has one processor")
        finally:
            worker.close()
            joined.close()
    out.write()


if __name__ == "__main__":
    main()
