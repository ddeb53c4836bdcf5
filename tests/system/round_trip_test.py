# SPDX-License-Identifier: Apache-2.0
"""pack, info, verify, unpack, diff: the ordinary way through, as scripts and people use it."""
import json
import pathlib
import re
import struct
import unittest

from command import DATA, CommandTest, bf16_noise, read_safetensors, safetensors

CODECS = ("store", "exact", "exact-dense")


class RoundTrip(CommandTest):
    def test_real_files_come_back_byte_for_byte(self):
        files = sorted(DATA.glob("*.safetensors"))
        self.assertTrue(files)
        for codec in CODECS:
            for path in files:
                with self.subTest(codec=codec, file=path.name):
                    archive, back = self.dir / "a.ofr", self.dir / "b.safetensors"
                    packed = json.loads(self.good("pack", path, archive, "--codec", codec, "--json",
                                                  "--overwrite").stdout)
                    self.assertEqual(packed["archive_bytes"], archive.stat().st_size)
                    if codec != "store":
                        self.assertGreater(packed["ratio"], 1.4)
                    self.good("verify", archive)
                    self.good("unpack", archive, back, "--overwrite")
                    self.assertEqual(back.read_bytes(), path.read_bytes())
                    self.good("diff", path, archive)

    def test_every_kind_of_tensor_comes_back(self):
        source = self.sample()
        for codec in CODECS:
            archive, back = self.dir / f"{codec}.ofr", self.dir / f"{codec}.safetensors"
            self.good("pack", source, archive, "--codec", codec)
            self.good("unpack", archive, back)
            self.assertEqual(back.read_bytes(), source.read_bytes())

    def test_the_archive_depends_on_neither_threads_nor_slots(self):
        source = self.sample(rows=3000)
        for codec in CODECS:
            archives = []
            for threads, slots in ((1, 1), (2, 6), (5, 3)):
                archive = self.dir / "a.ofr"
                self.good("pack", source, archive, "--codec", codec, "--threads", threads, "--slots",
                          slots, "--chunk", "256k", "--overwrite")
                archives.append(archive.read_bytes())
            self.assertEqual(len(set(archives)), 1)

    def test_a_folder_out_and_in_again(self):
        source = self.sample()
        archive, folder, again = self.dir / "a.ofr", self.dir / "folder", self.dir / "b.ofr"
        self.good("pack", source, archive)
        self.good("unpack", archive, folder)
        self.good("pack", folder, again)
        self.good("diff", source, again)

    def test_the_folder_of_real_files(self):
        """Their metadata differs: it is kept for each file."""
        archive = self.dir / "a.ofr"
        self.good("pack", DATA, archive)
        metadata = json.loads(self.good("info", archive, "--json").stdout)["metadata"]
        self.assertEqual(metadata["kv_docs.safetensors:text"], "docs@0")
        self.assertEqual(metadata["kv_code.safetensors:text"], "code@0")
        self.good("unpack", archive, self.dir / "folder")
        self.good("diff", DATA, self.dir / "folder")

    def test_npy_and_raw(self):
        values = struct.pack("<6f", *range(6))
        npy = self.write("a.npy", b"\x93NUMPY\x01\x00\x76\x00" + (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n").encode()
            + values)
        self.good("pack", npy, self.dir / "a.ofr")
        self.good("unpack", self.dir / "a.ofr", self.dir / "back.npy")
        self.assertEqual((self.dir / "back.npy").read_bytes()[-24:], values)
        raw = self.write("a.raw", values)
        self.good("pack", raw, self.dir / "r.ofr", "--dtype", "fp32", "--shape", "2,3")
        self.good("unpack", self.dir / "r.ofr", self.dir / "back.raw")
        self.assertEqual((self.dir / "back.raw").read_bytes(), values)
        shown = json.loads(self.good("info", self.dir / "r.ofr", "--json").stdout)
        self.assertEqual(shown["tensors"][0]["shape"], [2, 3])

    def test_rows_of_one_tensor_without_the_rest(self):
        source = self.sample()
        archive, out = self.dir / "a.ofr", self.dir / "rows.safetensors"
        self.good("pack", source, archive)
        whole = read_safetensors(source)["layers.0.key"][2]
        # Everything but the one record is made unreadable: it must not be looked at.
        shown = json.loads(self.good("info", archive, "--json").stdout)
        self.assertEqual(shown["tensors"][0]["name"], "layers.0.key")
        data = bytearray(archive.read_bytes())
        middle = shown["tensors"][0]["stored_bytes"] + 4096
        data[middle : middle + 50000] = bytes(50000)
        archive.write_bytes(data)
        self.good("unpack", archive, out, "--tensor", "layers.0.key", "--rows", "1100:1200")
        dtype, shape, rows = read_safetensors(out)["layers.0.key"]
        self.assertEqual((dtype, shape), ("BF16", [100, 64]))
        self.assertEqual(rows, whole[1100 * 128 : 1200 * 128])
        self.bad(1, "unpack", archive, self.dir / "v.safetensors", "--tensor", "layers.0.value",
                 says=archive)

    def test_repacking_an_archive_gives_the_same_tensors(self):
        source = self.sample()
        self.good("pack", source, self.dir / "a.ofr")
        self.good("pack", self.dir / "a.ofr", self.dir / "b.ofr", "--codec", "exact-dense")
        self.good("diff", source, self.dir / "b.ofr")


class Reports(CommandTest):
    def test_json_of_every_command_is_one_object(self):
        source = self.sample()
        archive = self.dir / "a.ofr"
        for command in (("pack", source, archive), ("info", archive), ("verify", archive),
                        ("unpack", archive, self.dir / "b.safetensors"),
                        ("recover", archive, self.dir / "r.ofr"), ("diff", source, archive)):
            ran = self.good(*command, "--json")
            report = json.loads(ran.stdout)
            self.assertTrue(report["ok"])
            self.assertEqual(report["command"], command[0])
            self.assertEqual(ran.stderr, "")

    def test_errors_come_as_json_too(self):
        ran = self.bad(3, "info", self.dir / "missing.ofr", "--json", says="missing.ofr")
        report = json.loads(ran.stdout)
        self.assertFalse(report["ok"])
        self.assertEqual(report["error"]["code"], "io")
        self.assertTrue(report["error"]["path"].endswith("missing.ofr"))

    def test_quiet_says_nothing(self):
        ran = self.good("pack", self.sample(), self.dir / "a.ofr", "--quiet")
        self.assertEqual(ran.stdout + ran.stderr, "")

    def test_info_shows_names_that_steer_terminals_harmlessly(self):
        source = self.write("a.safetensors",
                            safetensors({"red\x1b[31m\nname": ("U8", [1], b"\x01")}))
        self.good("pack", source, self.dir / "a.ofr")
        ran = self.good("info", self.dir / "a.ofr")
        self.assertNotIn("\x1b", ran.stdout)
        self.assertIn("\\x1b[31m\\x0aname", ran.stdout)

    def test_diff_states_the_difference(self):
        a = self.write("a.safetensors",
                       safetensors({"t": ("F32", [3], struct.pack("<3f", 3, 0, 4))}))
        b = self.write("b.safetensors",
                       safetensors({"t": ("F32", [3], struct.pack("<3f", 3, 1, 2))}))
        report = json.loads(self.bad(1, "diff", a, b, "--json").stdout)
        tensor = report["tensors"][0]
        self.assertFalse(report["bit_equal"])
        self.assertEqual(tensor["differing"], 2)
        self.assertEqual(tensor["max_error"], 2)
        self.assertAlmostEqual(tensor["nmse"], 0.2)
        self.assertAlmostEqual(tensor["cosine"], 17 / (5 * 14**0.5))
        c = self.write("c.safetensors", safetensors({"u": ("F32", [1], bytes(4))}))
        report = json.loads(self.bad(1, "diff", a, c, "--json").stdout)
        self.assertEqual(len(report["tensors"]), 2)

    def test_trace_and_metrics(self):
        trace, metrics = self.dir / "trace.json", self.dir / "metrics.prom"
        self.good("pack", self.sample(), self.dir / "a.ofr", "--trace", trace, "--metrics", metrics)
        events = json.loads(trace.read_text())["traceEvents"]
        names = {event["name"] for event in events}
        self.assertTrue({"read", "encode", "write"} <= names, names)
        text = metrics.read_text()
        self.assertRegex(text, re.compile(r"^offramp_\w+ \d+$", re.M))

    def test_help_teaches(self):
        ran = self.good("--help")
        for word in ("pack", "unpack", "info", "verify", "recover", "diff", "Examples", "Exit codes"):
            self.assertIn(word, ran.stdout)
        for command in ("pack", "unpack", "info", "verify", "recover", "diff"):
            self.assertIn("--json", self.good(command, "--help").stdout)
        self.assertRegex(self.good("--version").stdout, r"^offramp \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
