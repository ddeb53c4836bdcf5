#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the arrows between folders: which `#include` may point where.

    check_layers.py [ROOT]       exit 0 if every include keeps to the table below, else 1
    check_layers.py --self-test  plants violations in a scratch tree and checks that each is found

The table is the layout of CONTRIBUTING.md in code: change it only together with the layout.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

# What a folder of src/ and of include/offramp/ may see besides itself.
LAYERS = {
    "core": set(),
    "device": {"core"},
    "codec": {"core", "device"},
    "container": {"core"},
    "frames": {"core", "device"},
    "generators": {"core", "device", "frames"},
    "transport": {"core", "device", "frames"},
    "planner": {"core"},
    "probe": {"core", "device", "codec", "transport"},
    "engine": {"core", "device", "codec", "container", "frames", "transport", "planner"},
    # The library's face: compress, decompress and the C interface, over everything but the probe.
    "face": {"core", "device", "codec", "container", "frames", "transport", "planner", "engine"},
}

# Libraries by the start of the include, and the layers whose sources may use them.
LIBRARIES = {
    "fmt/": set(LAYERS),
    "nlohmann/": {"transport", "engine", "probe", "planner"},
    "hwy/": {"codec", "frames"},
    "xxhash.h": {"core", "container"},
    "CLI/": set(),
    "libav": {"transport"},
    "libsw": {"transport"},
    "png.h": {"transport"},
    "cupti": {"probe"},
    "cuda": {"device", "codec", "frames", "generators"},
    "nv": {"device", "codec", "frames", "generators"},
    "gtest/": set(),
    "gmock/": set(),
    "benchmark/": set(),
}

# Programs of the tree that see the library as anybody's program does: through its public headers.
OUTSIDERS = ("cli", "examples", "python")

SOURCES = (".hpp", ".h", ".cpp", ".c", ".cu", ".cuh", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

STD = set("""algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal
cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution
filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream
iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional ostream
queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream
stack stdexcept stop_token streambuf string string_view strstream syncstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version""".split())
C_STD = {"stddef.h", "stdint.h", "stdbool.h"}


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def library_of(name):
    return next((start for start in LIBRARIES if name.startswith(start)), None)


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.found = []
        self.files = 0

    def report(self, path, line, what):
        self.found.append(f"{path.relative_to(self.root)}:{line}: {what}")

    def sources(self, folder):
        base = self.root / folder
        for path in sorted(base.rglob("*")) if base.is_dir() else []:
            if path.suffix in SOURCES and path.is_file():
                self.files += 1
                yield path

    def layer_of_public(self, name):
        """The layer of <offramp/...>; the headers at the top are the face."""
        parts = name.split("/")
        return parts[1] if len(parts) > 2 else "face"

    def target_layer(self, path, name):
        """The layer of src/ that a quoted include lies in, or None where it is no file of src/."""
        src = self.root / "src"
        for candidate in (path.parent / name, src / name):
            resolved = pathlib.Path(os.path.normpath(candidate))
            if resolved.is_file() and src in resolved.parents:
                inner = resolved.relative_to(src).parts
                return inner[0] if len(inner) > 1 else "face"
        return None

    def check_arrow(self, path, line, layer, target, name):
        if target == layer or (target == "cuda" and layer in LIBRARIES["cuda"]):
            return
        if target not in LAYERS:
            self.report(path, line, f"<{name}> lies in '{target}', which is no layer of the layout")
        elif target not in LAYERS[layer]:
            sees = ", ".join(sorted(LAYERS[layer])) or "no other"
            self.report(path, line, f"'{layer}' must not see '{target}' ({name}); it may see: {sees}")

    def check_public(self):
        base = self.root / "include" / "offramp"
        for path in self.sources("include"):
            inner = path.relative_to(base).parts
            layer = inner[0] if len(inner) > 1 else "face"
            if layer == "cuda":
                continue  # the interop headers see the CUDA runtime
            if layer not in LAYERS:
                self.report(path, 1, f"'{layer}' is no layer of the layout")
                continue
            for line, quote, name in includes(path):
                if quote == "<" and name.startswith("offramp/"):
                    self.check_arrow(path, line, layer, self.layer_of_public(name), name)
                elif quote == "<" and (name in STD or (path.suffix == ".h" and name in C_STD)):
                    continue
                else:
                    self.report(path, line, f"a public header sees only C++20 and public headers, not {name}")

    def check_src(self):
        src = self.root / "src"
        for path in self.sources("src"):
            inner = path.relative_to(src).parts
            layer = inner[0] if len(inner) > 1 else "face"
            if layer not in LAYERS:
                self.report(path, 1, f"'{layer}' is no layer of the layout")
                continue
            for line, quote, name in includes(path):
                if name.startswith("offramp/"):
                    self.check_arrow(path, line, layer, self.layer_of_public(name), name)
                    continue
                library = library_of(name)
                if library:
                    if layer not in LIBRARIES[library]:
                        self.report(path, line, f"'{layer}' must not use the library of {name}")
                    continue
                if quote == '"':
                    target = self.target_layer(path, name)
                    if target is None:
                        self.report(path, line, f'"{name}" is no file of src/')
                    else:
                        self.check_arrow(path, line, layer, target, name)

    def check_outsiders(self):
        for folder in OUTSIDERS:
            for path in self.sources(folder):
                for line, quote, name in includes(path):
                    if quote == '"' and self.target_layer(path, name):
                        self.report(path, line, f"'{folder}' sees only include/offramp, not src/{name}")
                    elif quote == "<" and name.startswith("offramp/"):
                        if not (self.root / "include" / name).is_file():
                            self.report(path, line, f"<{name}> is no public header")
                    elif name.startswith("../"):
                        self.report(path, line, f"{name} leaves the folder")

    def run(self):
        self.check_public()
        self.check_src()
        self.check_outsiders()
        return self.found


def self_test():
    planted = {
        "src/container/a.cpp": ('#include "codec/c.hpp"\n', "'container' must not see 'codec'"),
        "src/container/b.cpp": ("#include <offramp/codec/c.hpp>\n", "'container' must not see 'codec'"),
        "src/container/d.cpp": ('#include "../codec/c.hpp"\n', "'container' must not see 'codec'"),
        "src/core/a.cpp": ("#include <hwy/highway.h>\n", "'core' must not use the library"),
        "src/planner/a.cpp": ("#include <offramp/device/d.hpp>\n", "'planner' must not see 'device'"),
        "src/engine/a.cpp": ("#include <offramp/probe/p.hpp>\n", "'engine' must not see 'probe'"),
        "src/extra/a.cpp": ("\n", "'extra' is no layer"),
        "src/core/b.cpp": ('#include "core/missing.hpp"\n', "is no file of src/"),
        "include/offramp/core/a.hpp": ("#include <fmt/core.h>\n", "a public header sees only"),
        "include/offramp/core/b.hpp": ('#include "core/x.hpp"\n', "a public header sees only"),
        "include/offramp/core/c.hpp": ("#  include <offramp/codec/c.hpp>\n", "'core' must not see 'codec'"),
        "cli/a.cpp": ('#include "codec/c.hpp"\n', "'cli' sees only include/offramp"),
        "examples/a.c": ("#include <offramp/nothing.h>\n", "is no public header"),
    }
    clean = {
        "src/codec/c.hpp": "#include <offramp/core/ok.hpp>\n#include <hwy/highway.h>\n#include <vector>\n",
        "src/codec/exact/e.cpp": '#include "codec/c.hpp"\n#include "e.hpp"\n#include HWY_TARGET_INCLUDE\n',
        "src/codec/exact/e.hpp": '#include "core/x.hpp"\n',
        "src/core/x.hpp": "#include <fcntl.h>\n#include <fmt/core.h>\n",
        "src/compress.cpp": "#include <offramp/engine/g.hpp>\n",
        "include/offramp/core/ok.hpp": "#include <span>\n",
        "include/offramp/codec/c.hpp": "#include <offramp/core/ok.hpp>\n",
        "include/offramp/engine/g.hpp": "#include <offramp/codec/c.hpp>\n",
        "include/offramp/offramp.h": "#include <stdint.h>\n",
        "cli/ok.cpp": '#include <offramp/engine/g.hpp>\n#include <CLI/CLI.hpp>\n#include "ok.hpp"\n',
        "cli/ok.hpp": "\n",
    }
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)

        def write(name, text):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

        for name, text in clean.items():
            write(name, text)
        wrong = [f"reported in a clean tree: {line}" for line in Checker(root).run()]
        for name, (text, expected) in planted.items():
            write(name, text)
            lines = Checker(root).run()
            if len(lines) != 1 or not lines[0].startswith(name) or expected not in lines[0]:
                wrong.append(f"{name}: expected one line with \"{expected}\", got {lines}")
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
    checker = Checker(args.root)
    found = checker.run()
    for line in found:
        print(line)
    if checker.files == 0:
        print(f"{args.root}: no sources found")
        return 1
    print(f"layers: {checker.files} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
