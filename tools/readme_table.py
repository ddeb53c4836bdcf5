#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the README's table from the kept results, so that no figure in it is typed by hand.

    readme_table.py            rewrites the part of README.md between the two `measured` comments
    readme_table.py --check    exit 1 if that part is not what bench/baseline gives
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- measured: tools/readme_table.py -->\n", "<!-- /measured -->\n"
ORDER = ["offramp exact", "offramp exact-dense", "ZipNN", "pcodec", "blosc2 shuffle+zstd", "zstd -3", "zstd -1", "lz4"]


def rows_of(name):
    path = ROOT / "bench" / "baseline" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table():
    ratios, speeds = rows_of("ratio"), rows_of("speed")
    if not ratios:
        return ""
    by_file, rates = {}, {}
    for row in ratios:
        file, _, peer = row["case"].partition("/")
        by_file.setdefault(file, {})[peer] = row["value"]
    timed = next((row["case"].partition(",")[0] for row in speeds if "kv" in row["case"]), None)
    for row in speeds:
        case, _, what = row["case"].partition("/")
        if row["metric"] == "rate_median" and case == f"{timed}, one core":
            rates[what] = row["value"]
    files = sorted(by_file, reverse=True)
    lines = ["| | " + " | ".join(f"`{file}`" for file in files) + " | encode GB/s | decode GB/s |",
             "|---|" + "---:|" * (len(files) + 2)]
    for peer in ORDER:
        name = peer.removeprefix("offramp ")
        cells = [f"{by_file[file][peer]:.3f}" if peer in by_file[file] else "" for file in files]
        cells += [f"{rates[f'{name} {what}']:.2f}" if f"{name} {what}" in rates else "" for what in ("encode", "decode")]
        if any(cells):
            shown = f"**{peer}**" if peer.startswith("offramp") else peer
            lines.append(f"| {shown} | " + " | ".join(cells) + " |")
    def origin(row):
        return f"[bench/baseline/{row['bench']}.txt](bench/baseline/{row['bench']}.txt), commit {row['commit']}, {row['date']}"
    note = f"Size of the whole file over what replaces it, everything counted, restored and compared ({origin(ratios[0])})."
    if rates:
        note += (f"\nGB/s of `{timed}` on one core, in memory, in turns with ZipNN on one thread,"
                 f"\nmedian ({origin(speeds[0])}).")
    return "\n".join(lines) + f"\n\n{note}\nMachine: {ratios[0]['machine']}.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"README.md lacks the lines {BEGIN.strip()} and {END.strip()}")
    wanted = before + BEGIN + table() + END + after
    if not args.check:
        readme.write_text(wanted)
    elif wanted != text:
        sys.exit("README.md: the table is not what bench/baseline holds: run tools/readme_table.py")


if __name__ == "__main__":
    main()
