# SPDX-License-Identifier: Apache-2.0
"""offramp frames into and out of folders of pictures: other disks, links, folders that others own,
full disks, and files that are no frames."""
import os
import struct
import subprocess
import unittest

from command import OFFRAMP, CommandTest


class FoldersTest(CommandTest):
    def setUp(self):
        super().setUp()
        ran = self.run_command("frames", "heat", self.dir / "s.png", "--frames", 1, "--size", "16x16", "-q")
        if ran.returncode and "build" in ran.stderr:
            self.skipTest(ran.stderr.strip())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (self.dir / "s.png").unlink()

    def pictures(self, folder, frames=3):
        self.good("frames", "heat", f"{folder}/", "--frames", frames, "--size", "16x16", "-q")
        return sorted(path.name for path in folder.iterdir())

    def disk(self, size):
        """A small disk of its own, mounted until the test ends."""
        disk = self.dir / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)],
                          capture_output=True).returncode:
            self.skipTest("may not mount a tmpfs here")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        return disk


class Written(FoldersTest):
    names = [f"frame_{number:06d}.png" for number in range(3)]

    def test_a_disk_of_its_own(self):
        """The folder beside it is on another disk, from where nothing can be moved."""
        disk = self.disk("1m")
        self.assertEqual(self.pictures(disk), self.names)
        (self.dir / "link").symlink_to(disk / "sub")
        (disk / "sub").mkdir()
        self.assertEqual(self.pictures(self.dir / "link"), self.names)
        self.assertEqual(sorted(os.listdir(self.dir)), ["disk", "link"])

    def test_a_folder_in_one_that_others_own(self):
        if os.geteuid() == 0 and subprocess.run(["setpriv", "--version"], capture_output=True).returncode:
            self.skipTest("no setpriv to stop being root with")
        folder = self.dir / "shots"
        folder.mkdir()
        folder.chmod(0o777)
        self.dir.chmod(0o555)
        self.addCleanup(self.dir.chmod, 0o755)
        user = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        if user and subprocess.run([*user, OFFRAMP, "--version"], capture_output=True).returncode:
            self.skipTest("another user may not enter the folder of the program")
        ran = subprocess.run([*user, OFFRAMP, "frames", "heat", str(folder), "--frames", "3", "--size", "16x16", "-q"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(os.listdir(folder)), self.names)

    def test_a_link_to_nowhere_is_found_out_before_the_work(self):
        (self.dir / "link").symlink_to(self.dir / "gone")
        self.bad(3, "frames", "heat", f"{self.dir}/link/", "--frames", 3, "--size", "16x16", says="No such file")
        self.bad(3, "frames", "link", "null:", says="No such file", cwd=self.dir)
        self.assertEqual(os.listdir(self.dir), ["link"])
        (self.dir / "round").symlink_to("round")
        self.bad(3, "frames", "round", "null:", says="round: cannot", cwd=self.dir)

    def test_names_as_long_as_names_can_be(self):
        self.good("frames", "heat", f"{self.dir}/{'a' * 249}%d.png", "--frames", 3, "--size", "16x16")
        self.good("frames", "heat", f"{self.dir}/{'b' * 255}/", "--frames", 3, "--size", "16x16")
        self.assertEqual(sorted(os.listdir(self.dir)), [f"{'a' * 249}{k}.png" for k in range(3)] + ["b" * 255])

    def test_a_full_disk(self):
        """Whatever names the sequence: whole pictures are kept, the first that is not is named."""
        disk = self.disk("300k")
        (disk / "there").mkdir()
        for out, kept in [("new/", "new.partial"), ("there/", "there/frames.partial"), ("shot_%03d.png", "shot.partial")]:
            ran = self.bad(3, "frames", "vortex", f"{disk}/{out}", "--frames", 30, "--size", "160x120", "--level", 0,
                           says=["No space left", f"kept in {disk / kept}"])
            left = sorted((disk / kept).iterdir())
            self.assertGreater(len(left), 1)
            self.assertIn(f"cannot write frame {len(left)}", ran.stderr)
            self.good("frames", disk / kept, "null:", "-q")
            self.assertEqual([path for path in disk.rglob("*.tmp-*")], [])
            for path in left:
                path.unlink()
            (disk / kept).rmdir()

    def test_a_name_of_the_system(self):
        """/dev/stdout and /dev/fd/N are links to what has no name."""
        ran = subprocess.run([OFFRAMP, "frames", "heat", "/dev/stdout", "--format", "y4m", "--frames", "2", "--size",
                              "16x16", "-q"], capture_output=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.count(b"FRAME\n"), 2)


def tiff(rows, strip=None):
    """An 8-bit gray picture with a tag that no decoder needs: 296, in what a resolution is."""
    strip = b"".join(rows) if strip is None else strip
    tags = [(256, 4, len(rows[0])), (257, 4, len(rows)), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8),
            (277, 3, 1), (278, 4, len(rows)), (279, 4, len(strip)), (296, 3, 2)]
    body = struct.pack("<H", len(tags))
    for tag, kind, value in tags:
        body += struct.pack("<HHII", tag, kind, 1, value)
    return b"II*\0" + struct.pack("<I", 8 + len(strip)) + strip + body + bytes(4)


class Read(FoldersTest):
    def setUp(self):
        super().setUp()
        self.shots = self.dir / "shots"
        self.pictures(self.shots)
        if "without" in self.run_command("frames", self.shots, "null:").stderr:
            self.skipTest("this build reads no pictures")

    def count(self, source):
        self.good("frames", source, self.dir / "a.npy", "-q", "--overwrite")
        return int((self.dir / "a.npy").read_bytes()[:128].split(b"(")[1].split(b",")[0])

    def test_what_is_no_frame_is_left_out(self):
        (self.shots / "._frame_000000.png").write_bytes(b"what a Mac notes of a picture")
        (self.shots / ".frame_000003.png").write_bytes(b"half a picture")
        (self.shots / "notes.txt").write_bytes(b"")
        (self.shots / "more.png").mkdir()
        self.assertEqual(self.count(self.shots), 3)

    def test_a_name_that_looks_like_a_pattern(self):
        one = self.dir / "100%d.png"
        one.write_bytes((self.shots / "frame_000000.png").read_bytes())
        self.assertEqual(self.count(one), 1)

    def test_pictures_of_no_known_kind(self):
        self.write("a.tga", (self.shots / "frame_000000.png").read_bytes())
        self.bad(1, "frames", self.dir / "a.tga", "null:", "--source-format", "images",
                 says="a.tga: the name is that of no picture")

    def test_tiff(self):
        rows = [bytes(range(10 * y, 10 * y + 9)) for y in range(5)]
        self.write("a.tif", tiff(rows))
        self.good("frames", self.dir / "a.tif", self.dir / "a.raw", "-q", "--pixel-format", "gray8")
        self.assertEqual((self.dir / "a.raw").read_bytes(), b"".join(rows))
        self.write("b.tif", tiff(rows, b"".join(rows)[:20]))
        self.bad(1, "frames", self.dir / "b.tif", "null:", says="b.tif: frame 0 does not decode")


if __name__ == "__main__":
    unittest.main()
