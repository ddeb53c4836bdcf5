#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpus of frame_stream_fuzz: tests/fuzz/make_frame_seeds.py"""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "frame_stream_fuzz"
Y4M = b"YUV4MPEG2 W4 H2 F25:1"


def frames(size, count=2, line=b"FRAME\n"):
    return b"".join(line + bytes(range(k, k + size)) for k in range(count))


def y4m_seeds():
    for name, size in {"420jpeg": 12, "420mpeg2": 12, "420paldv": 12, "420": 12, "444": 24,
                       "420p10": 24, "444p10": 48, "mono": 8, "mono16": 16}.items():
        yield name, Y4M + b" C" + name.encode() + b"\n" + frames(size)
    yield "usual", Y4M + b" Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n" + frames(12)
    yield "full", Y4M + b" XCOLORRANGE=FULL\n" + frames(12)
    yield "odd", b"YUV4MPEG2 W3 H1 F30000:1001\n" + frames(7)
    yield "no_rate", b"YUV4MPEG2 W4 H2 F0:0\n" + frames(12)
    yield "no_size", b"YUV4MPEG2 F25:1\n" + frames(12)
    yield "large", b"YUV4MPEG2 W32768 H32768 F1:1 C444p10\n"
    yield "too_large", b"YUV4MPEG2 W4294967297 H-2 F-1:0\n"
    yield "frame_words", Y4M + b"\n" + frames(12, line=b"FRAME Ip Xabc\n")
    yield "no_frames", Y4M + b"\n"
    yield "cut_header", Y4M
    yield "cut_word", Y4M + b"\n" + frames(12, 1) + b"FRA"
    yield "cut_frame", Y4M + b"\n" + frames(12)[:-5]
    yield "long_header", Y4M + b" X" + b"a" * (4096 - len(Y4M) - 3) + b"\n" + frames(12, 1)
    yield "longer_header", Y4M + b" X" + b"a" * (4096 - len(Y4M) - 2) + b"\n" + frames(12, 1)
    yield "other_magic", b"YUV4MPEG3 W4 H2\n"


def raw_seeds():
    for pixels in range(10):
        yield f"raw_{pixels}", struct.pack("<BHH", pixels, 3, 2) + bytes(range(96))
    yield "raw_no_side", struct.pack("<BHH", 3, 0, 2) + bytes(12)
    yield "raw_large", struct.pack("<BHH", 5, 32768, 32768) + bytes(12)
    yield "raw_larger", struct.pack("<BHH", 0, 65535, 1) + bytes(12)
    yield "raw_cut", struct.pack("<BHH", 2, 2, 2) + bytes(29)
    yield "raw_none", struct.pack("<BHH", 2, 2, 2)


CORPUS.mkdir(parents=True, exist_ok=True)
for kind, seeds in ((0, list(y4m_seeds())), (1, list(raw_seeds()))):
    for number, (name, data) in enumerate(seeds):
        # Every other one through a pipe.
        (CORPUS / name).write_bytes(bytes([kind | (number % 2) << 1]) + data)
