#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every tracked file: licence line, length, words that mark unfinished work, size.

    check_files.py [ROOT]       exit 0 if all is well, else 1; prints the longest files either way
    check_files.py --self-test  plants violations in a scratch tree and checks that each is found
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

LINES_LIMIT = 500
SIZE_LIMIT = 4 << 20
README_LIMIT = 150

LICENSED = {".hpp", ".h", ".cpp", ".c", ".cu", ".cuh", ".py", ".sh"}
COUNTED = LICENSED | {".cmake"}
TEXT = COUNTED | {".md", ".txt", ".json", ".inc"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"

# Split, so that this file does not hold them itself.
BANNED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK" + "S?", "[Ss]tub" + "(bed|s)?",
                                       "not impl" + "emented", "unimpl" + "emented", "place" + "holder"]) + r")\b")
# Files whose text is not ours, or generated: a name and why.
UNCOUNTED = {"LICENSE": "the licence's own text"}


def tracked(root):
    git = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if git.returncode == 0 and git.stdout:
        names = git.stdout.decode().split("\0")
        return [root / name for name in names if name and (root / name).is_file()]
    skip = re.compile(r"^(build.*|out|\.git|\.cache|__pycache__)$")
    return [path for path in sorted(root.rglob("*"))
            if path.is_file() and not any(skip.match(part) for part in path.relative_to(root).parts)]


def is_script(path):
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def check(root):
    found, lengths = [], []
    paths = tracked(root)
    for path in paths:
        name = str(path.relative_to(root))
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            found.append(f"{name}: {size} bytes; a tracked file has at most {SIZE_LIMIT}")
        script = not path.suffix and is_script(path)
        if name in UNCOUNTED or not (script or path.suffix in TEXT or path.name == "CMakeLists.txt"):
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if path.suffix in LICENSED or script:
            if not any(LICENCE in line for line in lines[:3]):
                found.append(f"{name}:1: the first lines lack \"{LICENCE}\"")
        if path.suffix in COUNTED or script:
            lengths.append((len(lines), name))
            if len(lines) > LINES_LIMIT:
                found.append(f"{name}: {len(lines)} lines; above {LINES_LIMIT} a file holds two things")
        if name == "README.md" and len(lines) >= README_LIMIT:
            found.append(f"{name}: {len(lines)} lines; the aim is under {README_LIMIT}")
        if "corpus" in path.parts:
            continue
        for number, line in enumerate(lines, 1):
            word = BANNED.search(line)
            if word:
                found.append(f"{name}:{number}: \"{word.group(0)}\" marks unfinished work")
    return found, sorted(lengths, reverse=True), len(paths)


def self_test():
    good = f"// {LICENCE}\nint x;\n"
    planted = {
        "a.cpp": ("int x;\n", "lack"),
        "b.hpp": (good + "int y;\n" * 600, "lines"),
        "c.cpp": (good + "// TO" "DO later\n", "unfinished"),
        "d.md": ("This is not impl" "emented yet.\n", "unfinished"),
        "e.cpp": (good + "int st" "ub();  // a st" "ub\n", "unfinished"),
        "f.bin": ("x" * (SIZE_LIMIT + 1), "bytes"),
        "run": ("#!/bin/sh\nexit 0\n", "lack"),
        "README.md": ("line\n" * 150, "aim"),
    }
    clean = {"ok.cpp": good, "ok.py": f"#!/usr/bin/env python3\n# {LICENCE}\n", "ok.md": "A stubborn todo list.\n"}
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name, text in clean.items():
            (root / name).write_text(text)
        wrong += [f"reported in a clean tree: {line}" for line in check(root)[0]]
        for name, (text, expected) in planted.items():
            (root / name).write_text(text)
            found = check(root)[0]
            if not found or not all(line.startswith(name) and expected in line for line in found):
                wrong.append(f"{name}: expected lines with \"{expected}\", got {found}")
            (root / name).unlink()
    for line in wrong:
        print(line)
    print(f"self-test: {len(planted)} planted violations, {len(wrong)} not as expected")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found, lengths, count = check(pathlib.Path(args.root).resolve())
    print("longest files:")
    for lines, name in lengths[:5]:
        print(f"  {lines:5d} {name}")
    for line in found:
        print(line)
    print(f"files: {count} checked, {len(found)} violations")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
