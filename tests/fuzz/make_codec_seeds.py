#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpora of the codec fuzz targets: tests/fuzz/make_codec_seeds.py

The inputs are those of codec_stage_input.hpp; the same every time."""

import pathlib
import random
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
DTYPES = {"bf16": (1, 2), "fp16": (2, 2), "fp32": (3, 4), "fp64": (4, 8), "e4m3": (5, 1),
          "e5m2": (6, 1), "u8": (7, 1), "i16": (9, 2), "i64": (11, 8), "bool": (12, 1)}


def seed(what, dtype, shape, rest, first=0, elems=0xFFFF):
    head = struct.pack("<BBB", what, DTYPES[dtype][0], len(shape))
    return head + struct.pack(f"<{len(shape) + 2}H", *shape, first, elems) + rest


def gaussian(dtype, count, scale=1.0):
    rng = random.Random(count)
    values = [rng.gauss(0, scale * (1 + i % 7)) for i in range(count)]
    if dtype == "bf16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    if dtype == "fp16":
        return struct.pack(f"<{count}e", *values)
    if dtype == "fp32":
        return struct.pack(f"<{count}f", *values)
    if dtype == "fp64":
        return struct.pack(f"<{count}d", *values)
    if dtype == "e5m2":
        return b"".join(struct.pack("<e", v)[1:] for v in values)
    if dtype == "e4m3":
        return bytes((rng.randrange(2) << 7) | (min(14, int(abs(v) * 2)) << 3) | rng.randrange(8)
                     for v in values)
    width = DTYPES[dtype][1]
    mask = 1 if dtype == "bool" else 2 ** (8 * width) - 1
    return b"".join((int(v * 4) & mask).to_bytes(width, "little") for v in values)


def stage_seeds():
    for dtype, (_, width) in DTYPES.items():
        yield f"gaussian-{dtype}", seed(1, dtype, [40, 64], gaussian(dtype, 1000))
        yield f"damaged-{dtype}", seed(3, dtype, [40, 64], gaussian(dtype, 600))
        sparse = bytearray(gaussian(dtype, 800))
        for i in range(800):
            if i % 5:
                sparse[i * width:(i + 1) * width] = bytes(width)
        yield f"sparse-{dtype}", seed(1, dtype, [50, 70], bytes(sparse), 7, 900)
        yield f"constant-{dtype}", seed(3, dtype, [300, 9], gaussian(dtype, 1) + bytes(12))
    widened = b"".join(b"\0\0" + gaussian("bf16", 700)[2 * i:2 * i + 2] for i in range(700))
    yield "bf16-in-fp32", seed(1, "fp32", [64, 64], widened)
    noise = random.Random(1).randbytes(2000)
    yield "noise", seed(1, "bf16", [1000], noise)
    yield "empty", seed(1, "bf16", [0, 64], b"x")
    yield "scalar", seed(1, "fp64", [], noise[:8])
    yield "header", seed(0, "bf16", [16, 64], struct.pack("<IIQQQ", 1, 1, 1024, 0, 0) + noise)
    for mode in (0, 1, 2, 3, 16, 17, 18):
        yield f"tile-{mode}", seed(2, "bf16", [64, 64],
                                   struct.pack("<BH", mode, 1600) + gaussian("bf16", 1200))


def chain_seeds():
    one = struct.Struct("<HH")
    for stage in (1, 2, 3, 4):
        yield f"stage-{stage}", b"\1" + one.pack(stage, 0) + bytes(128)
    yield "params", b"\1" + one.pack(1, 3) + b"abc" + bytes(128)
    yield "two", b"\2" + one.pack(1, 0) + one.pack(2, 0)
    yield "cut", b"\1" + one.pack(1, 9)
    yield "none", b"\0"


def write(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds:
        (folder / name).write_bytes(data)


def store_seeds():
    yield "raw", seed(0, "bf16", [5, 7], bytes(range(70)), 3, 20)
    yield "short", seed(0, "fp64", [4], bytes(31))
    yield "trip", seed(1, "i64", [5], b"abc")


write("codec_store_fuzz", store_seeds())
write("codec_exact_fuzz", stage_seeds())
write("codec_exact_dense_fuzz", stage_seeds())
write("codec_chain_fuzz", chain_seeds())
