# SPDX-License-Identifier: Apache-2.0
"""Bad input, full disks, missing rights, kills: each gets a clear answer and leaves nothing behind."""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from command import OFFRAMP, CommandTest, bf16_noise, read_safetensors, safetensors


def as_nobody():
    os.setgid(65534)
    os.setuid(65534)


class BadInput(CommandTest):
    def test_usage(self):
        self.bad(2)
        self.bad(2, "pack")
        self.bad(2, "no-such-command")
        self.bad(2, "pack", "a", "b", "--no-such-option")
        self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--chunk", "many", says="many")
        self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--dtype", "fp32", "--shape", "3,x",
                 "--format", "raw", says="3,x")
        self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--codec", "zip",
                 says=["zip", "exact-dense"])
        self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--format", "raw", "--shape", "3",
                 "--dtype", "fp99", says="fp99")
        self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--device", "tpu:0", says="tpu:0")
        for chunk in ("63", "2G", "0", "-1", "1e30"):
            self.bad(2, "pack", self.sample(), self.dir / "a.ofr", "--chunk", chunk, says=chunk)
        self.bad(2, "pakc", "a", "b", says=["'pakc'", "did you mean pack?", "frames"])
        for words in (["pack"], ["pack", "a", "b", "--nope"], ["pakc"], []):
            ran = self.bad(2, *words, "--json")
            self.assertFalse(json.loads(ran.stdout)["ok"])
        self.assertEqual(self.files(), ["in.safetensors"])

    def test_files_of_no_known_kind(self):
        """What the command line says about them is wrong, not what they hold."""
        archive = self.dir / "a.ofr"
        raw = self.write("r.raw", bytes(12))
        self.good("pack", self.sample(), archive)
        for path, says in ((self.write("a.xyz", b"x"), "'.xyz'"), (raw, "--dtype")):
            self.bad(2, "pack", path, self.dir / "b.ofr", says=[path, says])
        self.bad(2, "pack", self.dir / "in.safetensors", self.dir / "b.ofr", "--dtype", "fp32", says="leave them out")
        self.bad(2, "unpack", archive, self.dir / "o.xyz", says="'.xyz'")
        self.bad(2, "unpack", archive, self.dir / "o.npy", says=["holds one tensor, not 5", "--tensor"])
        self.bad(1, "pack", raw, self.dir / "b.ofr", "--dtype", "fp32", "--shape", "4", says="12")
        self.assertEqual(self.files(), ["a.ofr", "a.xyz", "in.safetensors", "r.raw"])

    def test_an_archive_cut_in_its_first_record_promises_nothing(self):
        self.good("pack", self.sample(), self.dir / "a.ofr")
        data = (self.dir / "a.ofr").read_bytes()
        for size in (16, 40, 300):
            cut = self.write("cut.ofr", data[:size])
            ran = self.bad(1, "verify", cut, says=[cut, "no whole part"])
            self.assertIn("no whole record was found", ran.stdout)
            self.bad(1, "unpack", cut, self.dir / "b.safetensors", says="no whole part")
            self.bad(1, "recover", cut, self.dir / "b.ofr", says="no whole record")
        ran = self.bad(1, "verify", self.write("cut.ofr", data[:-100]), says="recover")
        self.assertIn("recover", ran.stdout)

    def test_a_gpu_that_is_not_there(self):
        archive, out = self.dir / "a.ofr", self.dir / "b.safetensors"
        self.good("pack", self.sample(), archive)
        for words in (["pack", self.sample(), self.dir / "c.ofr"], ["unpack", archive, out],
                      ["verify", archive]):
            self.bad(3, *words, "--device", "cuda:4095", says=["cuda:4095", "host"])
            self.bad(2, *words, "--device", "cuda:x", says="cuda:x")
        self.bad(3, "unpack", archive, out, "--device", "cuda:4095", "--tensor", "mask")
        report = json.loads(self.good("verify", archive, "--device", "auto", "--json").stdout)
        self.assertEqual(report["device"], "host")  # too small to start a GPU for
        self.assertEqual(self.files(), ["a.ofr", "in.safetensors"])

    def test_files_that_are_not_what_they_say(self):
        cases = {
            "empty.safetensors": b"",
            "short.safetensors": b"\x08\x00\x00",
            "beyond.safetensors": struct.pack("<Q", 1 << 40) + b"{}",
            "notjson.safetensors": struct.pack("<Q", 8) + b"not json",
            "overlap.safetensors": struct.pack("<Q", 140) + json.dumps({
                "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}).ljust(140).encode()
                + bytes(6),
            "dtype.safetensors": struct.pack("<Q", 80) + json.dumps({
                "a": {"dtype": "Q7", "shape": [4], "data_offsets": [0, 4]}}).ljust(80).encode()
                + bytes(4),
            "empty.npy": b"",
            "magic.npy": b"hello world, this is no npy file",
            "big.npy": b"\x93NUMPY\x01\x00\x76\x00" + (
                "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
                ).encode() + bytes(4),
            "fortran.npy": b"\x93NUMPY\x01\x00\x76\x00" + (
                "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }".ljust(117) + "\n"
                ).encode() + bytes(4),
            "object.npy": b"\x93NUMPY\x01\x00\x76\x00" + (
                "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
                ).encode() + bytes(8),
        }
        for name, data in cases.items():
            with self.subTest(name):
                path = self.write(name, data)
                self.bad(1, "pack", path, self.dir / "out.ofr", says=path)
                self.assertFalse((self.dir / "out.ofr").exists())

    def test_archives_that_are_not_what_they_say(self):
        for name, data in {"empty.ofr": b"", "text.ofr": b"no archive at all\n" * 100}.items():
            path = self.write(name, data)
            for command in ("info", "verify"):
                self.bad(1, command, path, says=path)
            self.bad(1, "unpack", path, self.dir / "out.safetensors", says=path)
            self.bad(1, "recover", path, self.dir / "out.ofr", says=path)
        self.assertEqual(self.files(), ["empty.ofr", "text.ofr"])

    def test_one_flipped_bit_is_found_and_named(self):
        self.good("pack", self.sample(), self.dir / "a.ofr")
        data = bytearray((self.dir / "a.ofr").read_bytes())
        data[len(data) // 2] ^= 4
        path = self.write("flipped.ofr", data)
        self.bad(1, "verify", path, says=[path, "checksum"])
        self.bad(1, "unpack", path, self.dir / "out.safetensors", says=path)
        self.assertFalse((self.dir / "out.safetensors").exists())
        # What was not hit comes back.
        report = json.loads(self.bad(1, "recover", path, self.dir / "r.ofr", "--json").stdout)
        self.assertFalse(report["ok"])
        self.assertFalse(report["lossless"])
        self.assertGreater(report["parts"], 0)
        self.good("unpack", self.dir / "r.ofr", self.dir / "r.safetensors", "--skip-incomplete")
        # A copy of the copy loses nothing, and yet is no whole archive unless the copy was.
        again = json.loads(self.bad(1 if report["incomplete"] else 0, "recover", self.dir / "r.ofr",
                                    self.dir / "again.ofr", "--json").stdout)
        self.assertTrue(again["lossless"])

    def test_unpack_never_leaves_its_folder(self):
        names = ["../out", "/etc/offramp", "a/../../b", "..", ".", "a/b", "nul\nline", "x" * 10000, " ",
                 "CON", "a\\b", "~", "-rf"]
        source = self.write("in.safetensors", safetensors(
            {name: ("U8", [1], bytes([i])) for i, name in enumerate(names)}))
        self.good("pack", source, self.dir / "a.ofr")
        self.good("unpack", self.dir / "a.ofr", self.dir / "folder")
        self.assertEqual(self.files(), ["a.ofr", "folder", "in.safetensors"])
        self.assertTrue(all(path.is_file() for path in (self.dir / "folder").iterdir()))
        self.good("diff", source, self.dir / "folder")

    def test_tensor_and_rows_that_are_not_there(self):
        self.good("pack", self.sample(), self.dir / "a.ofr")
        out = self.dir / "o.safetensors"
        self.bad(2, "unpack", self.dir / "a.ofr", out, "--tensor", "none", says=["none", "info"])
        self.bad(2, "unpack", self.dir / "a.ofr", out, "--tensor", "layers.0.key", "--rows",
                 "2990:3001", says="3000")
        self.bad(2, "unpack", self.dir / "a.ofr", out, "--tensor", "layers.0.key", "--rows", "9:3")
        self.bad(2, "unpack", self.dir / "a.ofr", out, "--rows", "1:3", says="--tensor")
        self.assertFalse(out.exists())


class Machine(CommandTest):
    def test_output_that_exists_is_kept(self):
        source = self.sample()
        out = self.write("a.ofr", b"precious")
        self.bad(3, "pack", source, out, says=[out, "--overwrite"])
        self.assertEqual(out.read_bytes(), b"precious")
        self.good("pack", source, out, "--overwrite")
        back = self.write("b.safetensors", b"precious")
        self.bad(3, "unpack", out, back, says=[back, "--overwrite"])
        self.assertEqual(back.read_bytes(), b"precious")

    def test_output_equal_to_input(self):
        source = self.sample()
        before = source.read_bytes()
        link = self.dir / "link.ofr"
        link.symlink_to(source)
        for out in (source, link):
            self.bad(2, "pack", source, out, "--overwrite", says="same file")
        self.assertEqual(source.read_bytes(), before)

    def test_a_full_device(self):
        ran = self.bad(3, "pack", self.sample(), "/dev/full", "--overwrite", says="/dev/full")
        self.assertIn("No space left", ran.stderr)

    def test_a_full_disk(self):
        source = self.sample(rows=20000)
        disk = self.dir / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
                               capture_output=True)
        if mount.returncode:
            self.skipTest("may not mount a tmpfs here")
        try:
            for command in (("pack", source, disk / "a.ofr"), ("pack", source, disk / "a.ofr",
                                                               "--codec", "store")):
                self.bad(3, *command, says=["a.ofr", "No space left", "free space"])
                self.assertEqual(list(disk.iterdir()), [])
            self.good("pack", source, self.dir / "whole.ofr")
            for out in ("b.safetensors", "folder"):
                self.bad(3, "unpack", self.dir / "whole.ofr", disk / out, says="No space left")
                self.assertEqual(list(disk.iterdir()), [])
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_a_file_size_limit(self):
        source = self.sample(rows=20000)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.bad(3, "pack", source, self.dir / "a.ofr", says="a.ofr", preexec_fn=limit)
        self.assertEqual(self.files(), ["in.safetensors"])

    def test_standard_streams_that_are_closed_or_full(self):
        """Messages that reach nobody change nothing, and never end up in the files."""
        source = self.sample()

        def run(redirections, *args):
            words = [OFFRAMP, *map(str, args)]
            return subprocess.run(["sh", "-c", f'"$@" {redirections}', "sh", *words],
                                  capture_output=True, timeout=300).returncode

        for number, redirections in enumerate(["2>&-", "2>/dev/full", "<&- 2>&-"]):
            out = self.dir / f"{number}.ofr"
            self.assertEqual(run(redirections, "pack", source, out), 0, redirections)
            self.good("verify", out, "-q")
            self.assertEqual(run(redirections, "verify", self.dir / "none.ofr", "--json"), 3)
        for number, redirections in enumerate([">&-", ">/dev/full", "<&- >&- 2>&-"]):
            out = self.dir / f"full{number}.ofr"
            # What was asked for is there; only its report is not, which the exit code tells.
            self.assertEqual(run(redirections, "pack", source, out), 3, redirections)
            self.good("verify", out, "-q")

    def test_a_trace_that_would_destroy_input_or_output(self):
        source = self.sample()
        self.good("pack", source, self.dir / "a.ofr")
        before = source.read_bytes()
        new = self.dir / "new.ofr"
        for option in ("--trace", "--metrics"):
            for path in (source, new, self.dir / "." / "new.ofr"):
                self.bad(2, "pack", source, new, option, path, says="would be overwritten")
            self.bad(2, "verify", self.dir / "a.ofr", option, self.dir / "a.ofr",
                     says="would be overwritten")
        self.bad(2, "unpack", self.dir / "a.ofr", self.dir / "b.safetensors", "--trace",
                 self.dir / "t", "--metrics", self.dir / "t", says="would be overwritten")
        self.bad(2, "pack", "in.safetensors", "new.ofr", "--trace", "./new.ofr", cwd=self.dir,
                 says="would be overwritten")
        self.assertEqual(source.read_bytes(), before)
        self.good("verify", self.dir / "a.ofr", "-q")
        self.assertEqual(self.files(), ["a.ofr", "in.safetensors"])

    def test_a_trace_that_cannot_be_written_costs_no_job(self):
        source = self.sample()
        self.good("pack", source, self.dir / "a.ofr")
        for option in ("--trace", "--metrics"):
            path = self.dir / "none" / "t"
            self.bad(3, "pack", source, self.dir / "b.ofr", option, path, says=[path, "folder must exist"])
            self.bad(3, "unpack", self.dir / "a.ofr", self.dir / "b.safetensors", option, path, says=path)
            self.bad(3, "verify", self.dir / "a.ofr", option, path, says=path)
            # Known only at the end: the archive stands.
            self.bad(3, "pack", source, self.dir / "b.ofr", option, "/dev/full",
                     says=["/dev/full", f"{self.dir / 'b.ofr'} is complete"])
            self.good("verify", self.dir / "b.ofr")
            (self.dir / "b.ofr").unlink()
        self.assertEqual(self.files(), ["a.ofr", "in.safetensors"])

    def test_without_permission(self):
        source = self.sample()
        self.good("pack", source, self.dir / "a.ofr")
        if os.getuid() != 0:
            self.skipTest("drops to another user, which only root may")
        try:
            self.run_command("--version", preexec_fn=as_nobody)
        except PermissionError:
            self.skipTest("another user may not enter the folder of the program")
        self.dir.chmod(0o755)
        source.chmod(0o600)
        self.bad(3, "pack", source, "/dev/null", "--overwrite", says=[source, "Permission denied"],
                 preexec_fn=as_nobody)
        self.bad(3, "unpack", self.dir / "a.ofr", self.dir / "b.safetensors",
                 says="Permission denied", preexec_fn=as_nobody)
        self.assertEqual(self.files(), ["a.ofr", "in.safetensors"])

    def test_a_folder_that_is_not_there(self):
        out = self.dir / "none" / "a.ofr"
        self.bad(3, "pack", self.sample(), out, says=[out, "No such file"])
        ran = self.bad(3, "pack", self.dir / "none.safetensors", self.dir / "a.ofr",
                       says=["none.safetensors", "check the path"])
        self.assertNotIn("folder", ran.stderr)

    def test_little_memory(self):
        source = self.sample(rows=20000)

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (60 << 20, 60 << 20))

        if self.run_command("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("a build under a sanitizer needs more address space to start")
        ran = self.run_command("pack", source, self.dir / "a.ofr", "--slots", "64", "--chunk", "64M",
                               preexec_fn=limit)
        self.assertEqual(ran.returncode, 3, ran.stderr)
        self.assertIn("memory", ran.stderr)
        self.assertEqual(self.files(), ["in.safetensors"])


class Kills(CommandTest):
    def long_source(self):
        """Long enough that a kill hits the middle; many tensors, so that whole ones are there early."""
        block = bf16_noise(64 * 4096)
        tensors = {f"t{i:03}": ("BF16", [4096, 64], block[i * 128 :] + block[: i * 128])
                   for i in range(120)}
        return self.write("in.safetensors", safetensors(tensors)), tensors

    def start_pack(self, source, out):
        return subprocess.Popen([OFFRAMP, "pack", str(source), str(out), "--chunk", "256k", "--slots",
                                 "2", "--threads", "1", "--codec", "exact-dense"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_sigkill_at_50_moments(self):
        source, tensors = self.long_source()
        out = self.dir / "a.ofr"
        start = time.monotonic()
        with self.start_pack(source, out) as pack:
            self.assertEqual(pack.wait(), 0)
        whole_time = time.monotonic() - start
        out.unlink()
        rng = random.Random(7)
        with_records = 0
        for moment in range(50):
            pack = self.start_pack(source, out)
            time.sleep(whole_time * rng.random() * 1.1)
            pack.kill()
            pack.wait()
            pack.stderr.close()
            if out.exists():  # it was done before the kill
                self.good("verify", out, "-q")
                out.unlink()
            left = list(self.dir.glob("a.ofr.tmp-*"))
            self.assertLessEqual(len(left), 1)
            if left and left[0].stat().st_size:
                recovered = self.dir / "r.ofr"
                ran = self.run_command("recover", left[0], recovered, "--json")
                report = json.loads(ran.stdout)
                if "parts" in report:
                    self.assertEqual(ran.returncode, 0 if report["ok"] else 1)
                    self.assertGreater(report["parts"], 0)
                    # Two parts make a tensor here; at most the last one misses its second.
                    whole = report["parts"] // 2
                    self.assertEqual(len(report["incomplete"]), report["parts"] % 2)
                    if report["incomplete"]:
                        self.bad(1, "verify", recovered, "-q", says="misses elements")
                    else:
                        self.good("verify", recovered, "-q")
                    back = self.dir / "r.safetensors"
                    self.good("unpack", recovered, back, "-q", "--skip-incomplete")
                    got = read_safetensors(back)
                    self.assertEqual(sorted(got), [f"t{i:03}" for i in range(whole)])
                    for name, tensor in got.items():
                        self.assertEqual(tensor[2], tensors[name][2])
                    # Nothing whole was left out: less than one record's bytes are not accounted for.
                    kept = recovered.stat().st_size
                    self.assertGreater(kept + 600000, left[0].stat().st_size)
                    with_records += 1
                    recovered.unlink()
                    back.unlink()
                else:
                    self.assertIn("no whole record", ran.stderr)
            for path in left:
                path.unlink()
        self.assertGreater(with_records, 10, "the kills came too early or too late to prove anything")

    def test_interrupt_ends_clean(self):
        source, _ = self.long_source()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for delay in (0.05, 0.1, 0.2):
                out = self.dir / "a.ofr"
                pack = self.start_pack(source, out)
                time.sleep(delay)
                pack.send_signal(number)
                error = pack.stderr.read().decode()
                pack.stderr.close()
                got = pack.wait(timeout=20)
                if got == 0:
                    out.unlink()  # it was done already
                    continue
                # Before the handler stands, the signal's own action ends the process.
                self.assertIn(got, (code, -number), error)
                if got == code:
                    self.assertIn("cancelled", error)
                self.assertEqual(self.files(), ["in.safetensors"])

    def test_a_source_written_to_meanwhile(self):
        source, _ = self.long_source()
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        pack = subprocess.Popen([OFFRAMP, "pack", str(source), str(pipe), "--overwrite", "-q", "--chunk", "256k",
                                 "--slots", "2", "--threads", "1"], stderr=subprocess.PIPE)
        with open(pipe, "rb") as reader:
            reader.read(1000)  # the source is open; most of it cannot be read before more of this is
            with open(source, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"x")
            while reader.read(1 << 20):
                pass
        error = pack.stderr.read().decode()
        pack.stderr.close()
        self.assertEqual(pack.wait(timeout=20), 3, error)
        self.assertIn(f"{source}: the file was written to while it was read; start again", error)

    def test_a_second_signal_ends_it_at_once(self):
        source = self.sample(rows=5000)  # more than a pipe holds
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        pack = subprocess.Popen([OFFRAMP, "pack", str(source), str(pipe), "--overwrite", "-q"],
                                stderr=subprocess.PIPE)
        reader = os.open(pipe, os.O_RDONLY)
        time.sleep(0.4)  # nobody reads: pack stands in a write, and cannot end by itself
        for wait in (0.01, 0.8):
            pack.send_signal(signal.SIGINT)
            time.sleep(wait)
        self.assertEqual(pack.poll(), None, "two that came together are one")
        pack.send_signal(signal.SIGINT)
        error = pack.stderr.read().decode()
        pack.stderr.close()
        os.close(reader)
        self.assertEqual(pack.wait(timeout=20), -signal.SIGINT)
        self.assertIn("ended at once", error)

    def test_interrupt_while_the_reader_of_a_pipe_stalls(self):
        source, _ = self.long_source()
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        pack = subprocess.Popen([OFFRAMP, "pack", str(source), str(pipe), "--overwrite", "-q"],
                                stderr=subprocess.PIPE)
        reader = os.open(pipe, os.O_RDONLY)
        time.sleep(0.5)  # nobody reads: pack stands in a write
        memory = int(pathlib.Path(f"/proc/{pack.pid}/statm").read_text().split()[1])
        time.sleep(0.5)
        later = int(pathlib.Path(f"/proc/{pack.pid}/statm").read_text().split()[1])
        self.assertEqual(pack.poll(), None)
        self.assertLessEqual(later - memory, 256, "pages: memory must be flat while the sink stalls")
        os.close(reader)  # now the write fails: a broken pipe is an error, not a death
        error = pack.stderr.read().decode()
        pack.stderr.close()
        self.assertEqual(pack.wait(timeout=20), 3, error)
        self.assertIn("pipe", error)


if __name__ == "__main__":
    unittest.main()
