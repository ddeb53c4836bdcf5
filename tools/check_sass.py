#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks in compiled CUDA code for a place where ptxas does not wait long enough (docs/design/0007).

nvcc 13.0 makes the 64-bit zero of `x = c ? wide : 0` by CS2R, which takes 6 cycles on an H200. Where it stands right
before the predicated instruction that writes `wide` to the same registers, ptxas counts that one as the writer, and what
reads them may come 5 cycles after the CS2R: where `c` is false, it finds what was there before. This names every reader
that comes too soon.

    tools/check_sass.py [--self-test] FILE.o|FILE.cubin|FOLDER...     exit 1: found; objects are compiled by --no-compress
"""
import pathlib
import struct
import sys

CS2R_CYCLES = 6
CS2R, SRZ, ALWAYS = 0x805, 0xFF, 7
ENDS = {0x947, 0x941, 0x945, 0x949, 0x94D}  # BRA, BSYNC, BSSY, BRX, EXIT: what follows is another block
EM_CUDA = 190


def cubins(data):
    """The offsets of the CUDA images in a file."""
    at = data.find(b"\x7fELF")
    while at >= 0:
        if len(data) >= at + 64 and struct.unpack_from("<H", data, at + 18)[0] == EM_CUDA:
            yield at
        at = data.find(b"\x7fELF", at + 4)


def kernels(data, base):
    """(name, instructions of 16 bytes) of each function in the image at `base`."""
    (table,) = struct.unpack_from("<Q", data, base + 0x28)
    size, count, names = struct.unpack_from("<HHH", data, base + 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", data, base + table + i * size) for i in range(count)]
    strings = base + sections[names][4]
    for section in sections:
        begin = strings + section[0]
        name = data[begin : data.index(b"\0", begin)].decode()
        if name.startswith(".text."):
            first = base + section[4]
            yield name[6:], [struct.unpack_from("<QQ", data, first + i) for i in range(0, section[5], 16)]


def stall(word):
    """Cycles until the next instruction is issued."""
    return word[1] >> 41 & 15


def reads(word):
    registers = {word[0] >> 24 & 255, word[1] & 255}
    if word[0] >> 9 & 7 == 1:  # the second operand is a register, too
        registers.add(word[0] >> 32 & 255)
    return registers


def hazards(words):
    """(offset of the CS2R, offset of the reader, cycles between them)."""
    for i, word in enumerate(words):
        if word[0] & 0xFFF != CS2R or word[1] >> 8 & 255 != SRZ or not word[1] >> 16 & 1:
            continue
        low = word[0] >> 16 & 255
        cycles, is_overwritten = stall(word), False
        for j in range(i + 1, len(words)):
            later = words[j]
            if cycles >= CS2R_CYCLES or later[0] & 0xFFF in ENDS:
                break
            if reads(later) & {low, low + 1}:
                if is_overwritten:
                    yield 16 * i, 16 * j, cycles
                break
            if later[0] >> 16 & 255 in (low, low + 1):
                if later[0] >> 12 & 15 == ALWAYS:
                    break
                is_overwritten = True
            cycles += stall(later)


def check(path):
    found = images = 0
    data = path.read_bytes()
    for base in cubins(data):
        images += 1
        for name, words in kernels(data, base):
            for zero, reader, cycles in hazards(words):
                found += 1
                print(f"{path}: {name}: what CS2R at {zero:#x} makes is read at {reader:#x}, {cycles} cycles later;"
                      f" it takes {CS2R_CYCLES}")
    return images, found


def self_test():
    # CS2R R14, SRZ; @P2 IMAD.WIDE.U32 R14, R18, 0x10, RZ; IADD3 R29, P1, R14, R29, RZ, as they came with the fault.
    fault = [(0x00000000000E7805, 0x000FE4000001FF00), (0x00000010120E2825, 0x008FC600078E00FF),
             (0x0000001D0E1D7210, 0x000FCA0007F3E0FF)]
    assert list(hazards(fault)) == [(0, 32, 5)]
    always = [fault[0], (fault[1][0] | 0x7000, fault[1][1]), fault[2]]
    assert not list(hazards(always)), "what is always overwritten is read by nobody"
    slow = [fault[0], (fault[1][0], fault[1][1] + (1 << 41)), fault[2]]
    assert not list(hazards(slow)), "six cycles are enough"


def main():
    arguments = sys.argv[1:]
    if "--self-test" in arguments:
        arguments.remove("--self-test")
        self_test()
        if not arguments:
            return 0
    files = []
    for argument in map(pathlib.Path, arguments):
        files += sorted(argument.rglob("*.cu.o")) if argument.is_dir() else [argument]
    images = found = 0
    for path in files:
        here, bad = check(path)
        images, found = images + here, found + bad
    if images == 0:
        print("error: no CUDA image in these files: compile them by nvcc --no-compress", file=sys.stderr)
        return 2
    print(f"{images} CUDA images in {len(files)} files: {found or 'no'} reads too early")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
