# SPDX-License-Identifier: Apache-2.0
"""Frames from generators and files to every kind of file: whole, cut short, killed, refused.

    OFFRAMP_KILLS=50 frames_test.py Kills    more rounds than the few of a usual run
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest
import zlib

from command import DATA, OFFRAMP, CommandTest

GENERATORS = ("mandelbrot", "heat", "vortex")
KILLS = int(os.environ.get("OFFRAMP_KILLS", "2"))
FFPROBE = shutil.which("ffprobe")


def y4m_frames(data):
    """(width, height, frames) of a 4:2:0 or mono stream; a frame that is cut is left out."""
    head, _, body = data.partition(b"\n")
    words = {word[:1]: word[1:] for word in head.split()[1:]}
    width, height = int(words[b"W"]), int(words[b"H"])
    if words.get(b"C", b"420").startswith(b"mono"):
        size = width * height
    elif words.get(b"C", b"420").startswith(b"444"):
        size = 3 * width * height
    else:
        size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    frames = []
    while body.startswith(b"FRAME\n") and len(body) >= 6 + size:
        frames.append(body[6 : 6 + size])
        body = body[6 + size :]
    return width, height, frames


def png_rows(path):
    """The pixels of an 8-bit RGB png without interlacing."""
    data, at, coded = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if zlib.crc32(kind + body) != struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]:
            raise ValueError("checksum")
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            if (depth, color) != (8, 2):
                raise ValueError(f"depth {depth}, colour {color}")
        coded += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride, rows = zlib.decompress(coded), 3 * width, []
    before = bytes(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            a, b, c = line[x - 3] if x >= 3 else 0, before[x], before[x - 3] if x >= 3 else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = (line[x] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        rows.append(bytes(line))
        before = rows[-1]
    return b"".join(rows)


class FramesTest(CommandTest):
    def frames(self, *args, **kwargs):
        return json.loads(self.good("frames", *args, "--json", **kwargs).stdout)

    def need(self, *args):
        """Skips where this build lacks what writes such a file."""
        ran = self.run_command("frames", "heat", *args, "--frames", 1, "--size", "16x16", "--overwrite", "-q")
        if ran.returncode and ("build" in ran.stderr or "without" in ran.stderr):
            self.skipTest(ran.stderr.strip())
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def probe(self, path):
        """Frames that decode; needs ffprobe."""
        if not FFPROBE:
            self.skipTest("no ffprobe here")
        ran = subprocess.run([FFPROBE, "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries",
                              "stream=nb_read_frames", "-of", "csv=p=0", str(path)], capture_output=True, text=True)
        counted = ran.stdout.strip().rstrip(",")
        return int(counted) if ran.returncode == 0 and counted.isdigit() else 0


class Whole(FramesTest):
    def test_every_generator_in_any_number(self):
        for name in GENERATORS:
            for count in (1, 2, 3, 41):
                out = self.dir / "a.y4m"
                report = self.frames(name, out, "--frames", count, "--size", "62x34", "--fps", "30000/1001",
                                     "--overwrite")
                self.assertEqual((report["frames_in"], report["frames_out"]), (count, count))
                width, height, frames = y4m_frames(out.read_bytes())
                self.assertEqual((width, height, len(frames)), (62, 34, count))
                self.assertIn(b"F30000:1001", out.read_bytes()[:80])
                self.assertEqual(len(set(frames)), count, "every frame differs")

    def test_sync_makes_the_same_bytes(self):
        for name in GENERATORS:
            for out in ("a.y4m", "a.rgb", "a.npy"):
                for size in ("853x481" if name == "heat" else "131x97", "2x3", "1x1"):
                    one, other = self.dir / ("1" + out), self.dir / ("2" + out)
                    for path, how in ((one, ["--sync"]), (other, [])):
                        self.good("frames", name, path, "--frames", 3, "--size", size, "--overwrite", "-q", *how)
                    self.assertEqual(one.read_bytes(), other.read_bytes(), (name, out, size))

    def test_png(self):
        self.need(self.dir / "p_%03d.png")
        shutil.rmtree(self.dir)
        self.dir.mkdir()
        self.frames("heat", self.dir / "p_%03d.png", "--frames", 11, "--size", "31x17", "--level", 1)
        self.good("frames", "heat", self.dir / "all.rgb", "--frames", 11, "--size", "31x17", "--sync", "-q")
        names = [f"p_{i:03}.png" for i in range(11)]
        self.assertEqual(self.files(), ["all.rgb", *names])
        self.assertEqual(b"".join(png_rows(self.dir / name) for name in names),
                         (self.dir / "all.rgb").read_bytes())

    def test_video(self):
        self.need(self.dir / "a.mp4")
        for count in (1, 2, 3, 41):
            for out in ("a.mp4", "a.mkv"):
                path = self.dir / out
                report = self.frames("vortex", path, "--frames", count, "--size", "96x64", "--preset",
                                     "veryfast", "--overwrite")
                self.assertEqual(report["frames_out"], count)
                self.assertEqual(self.probe(path), count)
                back = self.frames(path, self.dir / "b.y4m", "--overwrite")
                self.assertEqual(back["frames_out"], count)

    def test_sources_pass_through(self):
        """y4m and raw, by file and by pipe, come out as they went in."""
        first = self.dir / "a.y4m"
        self.good("frames", "heat", first, "--frames", 5, "--size", "31x17", "-q")
        data = first.read_bytes()
        self.good("frames", first, self.dir / "b.y4m", "-q")
        self.assertEqual(y4m_frames((self.dir / "b.y4m").read_bytes()), y4m_frames(data))
        with open(first, "rb") as stdin:
            ran = subprocess.run([OFFRAMP, "frames", "-", "-"], stdin=stdin, capture_output=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(y4m_frames(ran.stdout), y4m_frames(data))
        self.assertIn(b"5 frames in, 5 out", ran.stderr)
        raw = self.write("a.raw", b"".join(y4m_frames(data)[2]))
        for frames in (1, 3, 5):
            self.good("frames", raw, self.dir / "c.yuv", "--pixel-format", "yuv420p", "--size", "31x17",
                      "--overwrite", "-q", "--frames", frames)
            size = len(raw.read_bytes()) // 5
            self.assertEqual((self.dir / "c.yuv").read_bytes(), raw.read_bytes()[: size * frames])

    def test_odd_sizes(self):
        source = self.dir / "a.y4m"
        self.good("frames", "heat", source, "--frames", 2, "--size", "5x3", "-q")
        whole = y4m_frames(source.read_bytes())[2]
        for how, width, height in (("pad", 6, 4), ("crop", 4, 2)):
            self.good("frames", source, self.dir / "b.y4m", "--odd", how, "--overwrite", "-q")
            got_width, got_height, got = y4m_frames((self.dir / "b.y4m").read_bytes())
            self.assertEqual((got_width, got_height, len(got)), (width, height, 2))
            for before, after in zip(whole, got):
                for y in range(height):
                    for x in range(width):
                        self.assertEqual(after[y * width + x], before[min(y, 2) * 5 + min(x, 4)])
        self.need(self.dir / "a.mp4")
        ran = self.run_command("frames", "heat", self.dir / "c.mp4", "--frames", 2, "--size", "853x481")
        self.assertEqual(ran.returncode, 2)
        for word in ("--odd", "pad", "crop", "853"):
            self.assertIn(word, ran.stderr)
        self.assertFalse((self.dir / "c.mp4").exists())
        for how, size in (("pad", (854, 482)), ("crop", (852, 480))):
            report = self.frames("heat", self.dir / "c.mp4", "--frames", 2, "--size", "853x481", "--odd", how,
                                 "--preset", "ultrafast", "--overwrite")
            self.assertEqual((report["width"], report["height"]), size)

    def test_report_and_trace(self):
        report, trace = self.dir / "r.html", self.dir / "t.json"
        result = self.frames("vortex", self.dir / "a.y4m", "--frames", 9, "--size", "64x48", "--report", report,
                             "--trace", trace)
        html = report.read_text()
        for text in ("<svg", "data-at=\"compute, chunk", "ideal: ", "frames out", "class=\"limit\""):
            self.assertIn(text, html)
        self.assertNotIn("http", html, "a report needs no network")
        self.assertNotIn("GPU busy", html, "what was not measured is not shown")
        stages = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
        self.assertLessEqual({"compute", "convert", "write", "job"}, stages)
        busy = result["steps"]["compute"]["busy_seconds"]
        self.assertGreater(busy, 0)
        self.assertLessEqual(busy, result["seconds"] * 1.001)
        self.assertLessEqual(result["ideal_seconds"], result["seconds"] * 1.001)

    def test_compare(self):
        out = self.dir / "a.y4m"
        result = self.frames("heat", out, "--frames", 6, "--size", "64x48", "--compare")
        for way in ("behind", "sync", "alone"):
            times = result[way]["seconds"]
            self.assertEqual(len(times), 5)
            self.assertLessEqual(result[way]["min"], result[way]["median"])
        self.assertGreater(result["ideal_seconds"], 0)
        self.assertEqual(len(y4m_frames(out.read_bytes())[2]), 6)
        again = self.bad(3, "frames", "heat", out, "--frames", 6, "--compare", says="--overwrite")
        self.assertEqual(again.stdout, "")

    def test_dropping_counts(self):
        result = self.frames("heat", self.dir / "a.y4m", "--frames", 200, "--size", "320x240", "--drop", "--slots", 2)
        self.assertEqual(result["frames_in"], result["frames_out"] + result["frames_dropped"])
        self.assertEqual(result["frames_in"], 200)
        ran = self.good("frames", "heat", "null:", "--frames", 200, "--size", "320x240", "--drop", "--slots", 2)
        self.assertTrue(ran.stdout.startswith("nowhere: 200 frames in"), ran.stdout)
        last = ran.stderr.strip().split("\n")[-1]  # of the progress
        self.assertIn("100 %  200 of 200 frames", last)
        self.assertEqual(", " in last, " dropped" in ran.stdout, ran.stderr)
        self.assertEqual(len(y4m_frames((self.dir / "a.y4m").read_bytes())[2]), result["frames_out"])


class Refused(FramesTest):
    def test_usage(self):
        out = self.dir / "a.y4m"
        for words in (["frames"], ["frames", "heat"], ["frames", "heat", out, "--frames", "0"],
                      ["frames", "heat", out, "--size", "0x3"], ["frames", "heat", out, "--size", "32"],
                      ["frames", "heat", out, "--size", "99999x9"], ["frames", "heat", out, "--fps", "0"],
                      ["frames", "heat", out, "--fps", "24/0"], ["frames", "heat", out, "--pixel-format", "rgb"],
                      ["frames", "heat", out, "--matrix", "bt2020"], ["frames", "heat", out, "--odd", "keep"],
                      ["frames", "heat", out, "--compare=2"], ["frames", "heat", "-", "--compare"],
                      ["frames", "heat", "-", "--json"], ["frames", "heat", out, "--sync", "--drop"],
                      ["frames", "heat", out, "--device", "tpu:0"], ["frames", "heat", out, "--level", "10"],
                      ["frames", "heat", self.dir / "a.xyz"]):
            self.bad(2, *words)
        self.bad(3, "frames", "heat", out, "--device", "cuda:4095", says="cuda:4095")
        self.bad(2, "frames", "vortx", out, says=["vortx", "did you mean vortex?", "mandelbrot"])
        self.bad(2, "frames", "clip", out, says=["clip", "vortex"])
        for name in ("x.npy", "x.safetensors"):
            self.bad(2, "frames", self.dir / name, out, says=[name, "not read"])
        self.assertEqual(self.files(), [])
        self.bad(2, "frames", self.write("a.raw", bytes(100)), out, says=["--pixel-format", "--size"])

    def test_a_report_that_cannot_be_written_costs_no_job(self):
        out, where = self.dir / "a.y4m", self.dir / "none" / "r.html"
        for option in ("--report", "--trace"):
            for how in ([], ["--sync"], ["--compare"]):
                self.bad(3, "frames", "heat", out, "--frames", 2, "--size", "16x16", option, where, *how, says=where)
            self.assertEqual(self.files(), [])
            self.bad(3, "frames", "heat", out, "--frames", 2, "--size", "16x16", option, "/dev/full",
                     says=["/dev/full", f"{out} is complete"])
            self.assertEqual(len(y4m_frames(out.read_bytes())[2]), 2)
            out.unlink()

    def test_one_picture_for_many_frames(self):
        out = self.dir / "a.png"
        self.need(out)
        out.unlink()
        for how in ([], ["--sync"]):
            self.bad(2, "frames", "heat", out, "--frames", 3, "--size", "16x16", *how,
                     says=[out, "holds one frame, and 3 would come", "frame_%05d.png"])
        self.assertEqual(self.files(), [])
        self.good("frames", "heat", out, "--frames", 1, "--size", "16x16")
        self.assertEqual(self.files(), ["a.png"])

    def test_output_that_exists_is_kept(self):
        out = self.write("a.y4m", b"precious")
        for how in ([], ["--sync"]):
            self.bad(3, "frames", "heat", out, "--frames", 2, "--size", "16x16", *how, says=[out, "--overwrite"])
        self.bad(2, "frames", "heat", self.dir / "b.y4m", "--report", self.dir / "b.y4m", says="overwritten")
        self.bad(2, "frames", out, out, "--overwrite", says="same file")
        self.assertEqual(self.files(), ["a.y4m"])
        self.assertEqual(out.read_bytes(), b"precious")

    def test_damaged_sources(self):
        self.good("frames", "heat", self.dir / "a.y4m", "--frames", 4, "--size", "32x32", "-q")
        whole = (self.dir / "a.y4m").read_bytes()
        frames = y4m_frames(whole)[2]
        cut = self.write("cut.y4m", whole[:-100])
        for how in ([], ["--sync"]):
            ran = self.bad(1, "frames", cut, self.dir / "b.y4m", *how, says=["cut.y4m", "frame 3", "kept in"])
            kept = pathlib.Path(ran.stderr.split("kept in ")[1].split("\n")[0])
            self.assertEqual(y4m_frames(kept.read_bytes())[2], frames[:3])
            kept.unlink()
            self.assertFalse((self.dir / "b.y4m").exists())
        for name, data in (("empty.y4m", b""), ("text.y4m", b"hello\n"), ("text.mp4", b"hello\n"),
                           ("huge.y4m", b"YUV4MPEG2 W32768 H32768 C444p10\n")):
            self.bad(1, "frames", self.write(name, data), self.dir / "b.y4m", says=name)
        self.bad(3, "frames", self.dir / "none.y4m", self.dir / "b.y4m", says="none.y4m")
        self.assertFalse((self.dir / "b.y4m").exists())


class Guide(FramesTest):
    root = DATA.parent

    def test_names_every_option(self):
        guide = (self.root / "docs/guide/frames.md").read_text()
        options = set(re.findall(r"--[a-z][a-z-]+", self.good("frames", "--help").stdout)) - {"--help"}
        self.assertGreater(len(options), 20)
        self.assertEqual([option for option in sorted(options) if f"`{option}" not in guide], [])

    def test_shows_the_example_that_is_built(self):
        guide = (self.root / "docs/guide/frames.md").read_text()
        program = (self.root / "examples/write_frames.cpp").read_text().split("\n", 2)[2]
        self.assertIn(program, guide)


class Machine(FramesTest):
    def test_a_full_disk(self):
        disk = self.dir / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode:
            self.skipTest("may not mount a tmpfs here")
        try:
            for how in ([], ["--sync"]):
                ran = self.bad(3, "frames", "heat", disk / "a.y4m", "--frames", 200, "--size", "160x120", *how,
                               says=["No space left", "frame "])
                self.assertIn("kept in", ran.stderr)
                self.assertNotIn("(write", ran.stderr, "the frame is named once")
                kept = pathlib.Path(ran.stderr.split("kept in ")[1].split("\n")[0])
                self.assertGreater(len(y4m_frames(kept.read_bytes())[2]), 10)
                for path in disk.iterdir():
                    path.unlink()
            self.need(self.dir / "a.mp4")
            ran = self.bad(3, "frames", "mandelbrot", disk / "a.mp4", "--frames", 400, "--size", "320x240", "--crf", 1,
                           "--preset", "ultrafast", says=["No space left", "frame ", "kept in"])
            kept = pathlib.Path(ran.stderr.split("kept in ")[1].split("\n")[0])
            self.assertGreater(self.probe(kept), 3)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_a_pipe_whose_reader_goes(self):
        writer = subprocess.Popen([OFFRAMP, "frames", "heat", "-", "--frames", "500", "--size", "320x240"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer.stdout.read(1000)
        writer.stdout.close()
        error = writer.stderr.read().decode()
        writer.stderr.close()
        self.assertEqual(writer.wait(timeout=30), 3, error)
        self.assertIn("pipe", error)
        self.assertNotIn("(write", error)


class Kills(FramesTest):
    def start(self, out, *args):
        return subprocess.Popen([OFFRAMP, "frames", "vortex", str(out), "--frames", "100000", "--size", "160x96",
                                 "-q", *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stop(self, job, number, after):
        time.sleep(after)
        job.send_signal(number)
        error = job.stderr.read().decode()
        job.stderr.close()
        return job.wait(timeout=30), error

    def test_sigkill(self):
        """What lies there is readable to the last whole frame, or for mp4 the last whole fragment."""
        rng = random.Random(3)
        expected = self.dir / "whole.y4m"
        self.good("frames", "vortex", expected, "--frames", 40, "--size", "160x96", "-q")
        frames = y4m_frames(expected.read_bytes())[2]
        kinds = ["y4m", "yuv"]
        if self.run_command("frames", "heat", self.dir / "t.mp4", "--frames", 1, "-q").returncode == 0 and FFPROBE:
            kinds.append("mp4")
        for kind in kinds:
            found = 0
            for attempt in range(KILLS + 8):
                if attempt >= KILLS and found:
                    break
                # Later ones are for a machine that is busy with other things.
                delay = 0.15 + 0.4 * rng.random() if attempt < KILLS else attempt - KILLS + 1
                out = self.dir / f"a.{kind}"
                extra = {"yuv": ["--pixel-format", "yuv420p"], "mp4": ["--preset", "ultrafast"]}.get(kind, [])
                self.stop(self.start(out, *extra), signal.SIGKILL, delay)
                left = [path for path in self.dir.glob(f"a.{kind}*") if path.stat().st_size > 0]
                for path in left:
                    if kind == "mp4":
                        count = self.probe(path)
                    elif kind == "y4m":
                        got = y4m_frames(path.read_bytes())[2]
                        count = len(got)
                        self.assertEqual(got[:40], frames[: len(got)])
                    else:
                        size = len(frames[0])
                        data = path.read_bytes()
                        count = len(data) // size
                        for i in range(min(count, 40)):
                            self.assertEqual(data[i * size : (i + 1) * size], frames[i])
                    found += count > 0
                    path.unlink()
            self.assertGreater(found, 0, f"{kind}: no kill left a frame")

    def test_interrupt(self):
        for how in ([], ["--sync"]):
            code, error = self.stop(self.start(self.dir / "a.y4m", *how), signal.SIGINT, 0.5)
            self.assertEqual(code, 130, error)
            self.assertIn("cancelled", error)
            self.assertFalse((self.dir / "a.y4m").exists())
            self.assertIn("kept in", error)
            kept = pathlib.Path(error.split("kept in ")[1].split("\n")[0])
            self.assertGreater(len(y4m_frames(kept.read_bytes())[2]), 0)
            kept.unlink()
            self.assertEqual(self.files(), [])

    def test_signals_that_come_together_are_one(self):
        """As `timeout` sends them: to the process, and to its group."""
        job = self.start(self.dir / "a.y4m")
        time.sleep(0.5)
        job.send_signal(signal.SIGTERM)
        time.sleep(0.005)
        code, error = self.stop(job, signal.SIGINT, 0)
        self.assertEqual(code, 143, error)
        self.assertIn("kept in", error)
        self.assertEqual(self.files(), ["a.partial.y4m"])

    def test_interrupt_while_nobody_reads(self):
        os.mkfifo(self.dir / "pipe.y4m")
        for how in ([], ["--sync"]):
            code, error = self.stop(self.start(self.dir / "pipe.y4m", *how), signal.SIGINT, 0.5)
            self.assertEqual(code, 130, error)
            self.assertIn("pipe.y4m: cancelled while waiting for a reader", error)

    def test_interrupt_while_nothing_comes(self):
        job = subprocess.Popen([OFFRAMP, "frames", "-", str(self.dir / "a.y4m")], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        code, error = self.stop(job, signal.SIGINT, 0.3)
        job.stdin.close()
        self.assertEqual(code, 130, error)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
