# SPDX-License-Identifier: Apache-2.0
"""What every benchmark shares: results as JSON lines and text, the machine in words, peers, files."""
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "build" / "bin" / "offramp"


def machine():
    """CPU model, processors and memory in words; no host name."""
    fields = {}
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    model = fields.get("model name", platform.machine())
    if "cpu family" in fields:
        model += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{model}, {len(os.sched_getaffinity(0))} processors, {memory} GiB, {platform.system()}"


def commit():
    """Short hash of the tree that is measured, with "+" where it has changes."""
    def git(*args):
        try:
            return subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True).stdout.strip()
        except OSError:  # no git there
            return ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "-uno") else "")


class Report:
    """Collects one benchmark's results; writes NAME.jsonl and NAME.txt into a folder."""

    def __init__(self, bench, folder, command):
        self.bench = bench
        self.folder = pathlib.Path(folder)
        self.rows, self.lines = [], []
        self.fixed = {
            "commit": commit(),
            "machine": machine(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "command": command,
        }
        self.say(f"{bench}: {self.fixed['machine']}; commit {self.fixed['commit']}; {self.fixed['date']}")
        self.say(f"command: {command}")

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def add(self, case, metric, value, unit):
        self.rows.append({"bench": self.bench, "case": case, "metric": metric, "value": round(value, 6), "unit": unit, **self.fixed})

    def add_spread(self, case, metric, values, unit):
        """Minimum, median and maximum; returns the median."""
        median = statistics.median(values)
        for name, value in (("min", min(values)), ("median", median), ("max", max(values))):
            self.add(case, f"{metric}_{name}", value, unit)
        return median

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{self.bench}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        (self.folder / f"{self.bench}.txt").write_text("\n".join(self.lines) + "\n")
        print(f"results: {self.folder / self.bench}.jsonl and .txt")


def spread(values, digits=2):
    return f"{min(values):.{digits}f} / {statistics.median(values):.{digits}f} / {max(values):.{digits}f}"


def shown_command():
    """The command line, paths outside the tree cut to their last part."""
    def short(arg):
        path = pathlib.Path(arg)
        return path.name if path.is_absolute() else arg
    script = pathlib.Path(sys.argv[0]).resolve().relative_to(ROOT)
    return shlex.join([str(script), *map(short, sys.argv[1:])])


def skip(bench, reason):
    print(f"{bench}: skipped: {reason}")
    sys.exit(0)


def safetensors_payload(path):
    """(header size, bytes of all tensors, size of one element) of a file with one dtype."""
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    dtypes = {entry["dtype"] for name, entry in header.items() if name != "__metadata__"}
    width = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8}
    if len(dtypes) != 1 or not dtypes <= set(width):
        raise ValueError(f"{path}: the peers take files of one float dtype, this has {sorted(dtypes)}")
    dtype = dtypes.pop()
    return 8 + size, raw[8 + size:], width[dtype], dtype


def default_files():
    return sorted((ROOT / "data").glob("*.safetensors"))
