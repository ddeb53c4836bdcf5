# SPDX-License-Identifier: Apache-2.0
"""What the system tests share: running the command, and making files for it."""
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest

OFFRAMP = os.environ["OFFRAMP"]
DATA = pathlib.Path(os.environ["OFFRAMP_DATA"])
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "U8": 1, "I64": 8, "F8_E4M3": 1, "BOOL": 1}


def bf16_noise(elems, seed=1):
    """bf16 bytes with the exponents of a normal distribution: what shrinks as real data does."""
    rng = random.Random(seed)
    block = b"".join(struct.pack("<f", rng.gauss(0, 1))[2:] for _ in range(min(elems, 4096)))
    return (block * (elems * 2 // len(block) + 1))[: elems * 2] if block else b""


def safetensors(tensors, metadata=None):
    """The bytes of a file; `tensors` maps a name to (dtype, shape, bytes)."""
    header, at, body = {}, 0, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()  # as the reference library does
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size :]
    return {n: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])]) for n, t in header.items()}


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="offramp-test-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def run_command(self, *args, **kwargs):
        return subprocess.run([OFFRAMP, *map(str, args)], capture_output=True, text=True,
                              errors="replace", timeout=300, **kwargs)

    def good(self, *args, **kwargs):
        ran = self.run_command(*args, **kwargs)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def bad(self, code, *args, says=(), **kwargs):
        """Runs a command that must fail with `code` and an error that says all of `says`."""
        ran = self.run_command(*args, **kwargs)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        for text in says if isinstance(says, (list, tuple)) else [says]:
            self.assertIn(str(text), ran.stderr)
        return ran

    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        return path

    def sample(self, name="in.safetensors", rows=1000):
        return self.write(name, safetensors({
            "layers.0.key": ("BF16", [3, rows, 64], bf16_noise(3 * rows * 64)),
            "layers.0.value": ("BF16", [3, rows, 64], bf16_noise(3 * rows * 64, seed=2)),
            "scale": ("F32", [], struct.pack("<f", 0.5)),
            "empty": ("F32", [0, 7], b""),
            "mask": ("BOOL", [9], bytes([1, 0, 1, 1, 0, 0, 0, 1, 1])),
        }, {"model": "test"}))

    def files(self):
        return sorted(path.name for path in self.dir.iterdir())
