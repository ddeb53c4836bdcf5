# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import textwrap
import time
from fractions import Fraction

import numpy as np
import pytest

import offramp
from offramp import _frames

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    "fps, rate",
    [
        (16, (16, 1)),
        (23.976, (24000, 1001)),
        (29.97, (30000, 1001)),
        (12.5, (25, 2)),
        (Fraction(24000, 1001), (24000, 1001)),
        ((30000, 1001), (30000, 1001)),
    ],
)
def test_rates(fps, rate):
    assert _frames._rate(fps) == rate


def test_an_iterator_of_frames_that_share_one_buffer(tmp_path):
    frames = RNG.integers(0, 256, (30, 8, 8, 3), np.uint8)

    def produce():
        buffer = np.empty((8, 8, 3), np.uint8)
        for frame in frames:
            buffer[:] = frame
            yield buffer

    path = tmp_path / "out.rgb"
    report = offramp.save_frames(produce(), path, pixels="rgb24")
    assert report.frames == 30
    np.testing.assert_array_equal(np.fromfile(path, np.uint8).reshape(frames.shape), frames)


def test_an_array_and_a_list(tmp_path):
    frames = RNG.integers(0, 256, (5, 8, 8, 3), np.uint8)
    for what in (frames, list(frames), frames.tolist()):
        path = tmp_path / "out.rgb"
        if isinstance(what, list) and isinstance(what[0], list):
            what = [np.asarray(frame, np.uint8) for frame in what]
        offramp.save_frames(what, path, pixels="rgb24", overwrite=True)
        np.testing.assert_array_equal(np.fromfile(path, np.uint8).reshape(frames.shape), frames)


def test_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    frames = RNG.integers(0, 256, (3, 8, 8, 3), np.uint8)
    offramp.save_frames([image.fromarray(frame) for frame in frames], tmp_path / "out.rgb", pixels="rgb24")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.rgb", np.uint8).reshape(frames.shape), frames)


def test_y4m_names_its_frames(tmp_path):
    path = tmp_path / "out.y4m"
    offramp.save_frames(np.zeros((3, 4, 6, 3), np.uint8), path, fps=23.976)
    data = path.read_bytes()
    header = data.split(b"\n", 1)[0]
    assert header.startswith(b"YUV4MPEG2 W6 H4 F24000:1001")
    assert data.count(b"FRAME\n") == 3


def test_no_frames(tmp_path):
    with pytest.raises(ValueError, match="no frames"):
        offramp.save_frames([], tmp_path / "out.rgb")
    assert not os.listdir(tmp_path)


def test_progress_through_tqdm(tmp_path, capsys):
    pytest.importorskip("tqdm")
    offramp.save_frames(np.zeros((3, 4, 6, 3), np.uint8), tmp_path / "out.rgb", pixels="rgb24", progress=True)
    assert "out.rgb" in capsys.readouterr().err


def test_every_number_of_frames_comes_out_of_a_video(tmp_path):
    for count in (1, 2, 3, 41):
        path = tmp_path / f"{count}.mp4"
        try:
            report = offramp.save_frames(iter(RNG.random((count, 16, 32, 3), np.float32)), path, fps=16)
        except offramp.DataError as error:
            if error.code == "unsupported":
                pytest.skip(str(error))
            raise
        assert report.frames == count
        assert path.stat().st_size > 0


def run_and_interrupt(tmp_path, body, **options):
    """Runs a program until it says so, interrupts it, and returns it with its error output."""
    program = "import sys, time, numpy as np, offramp\n" + textwrap.dedent(body)
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, **options)
    while True:
        line = child.stderr.readline()
        if line == b"ready\n":
            break
        assert line, "the program ended"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    start = time.monotonic()
    child.wait(timeout=30)
    took = time.monotonic() - start
    errors = child.stderr.read().decode()
    child.stdout.close()
    child.stderr.close()
    return child, errors, took


def test_ctrl_c_in_the_producer_leaves_whole_frames_beside_the_target(tmp_path):
    child, errors, took = run_and_interrupt(
        tmp_path,
        """
        with offramp.FrameWriter("out.y4m", pixels="yuv444p") as writer:
            for at in range(10000):
                writer.submit(np.full((4, 6, 3), at % 256, np.uint8))
                time.sleep(0.01)
                if at == 5:
                    print("ready", file=sys.stderr, flush=True)
        """,
    )
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
    assert took < 5
    left = os.listdir(tmp_path)
    assert "out.y4m" not in left and len(left) == 1
    data = (tmp_path / left[0]).read_bytes()
    header = data.index(b"\n") + 1
    frame = len(b"FRAME\n") + 4 * 6 * 3
    assert (len(data) - header) % frame == 0 and len(data) > header + 5 * frame


def test_ctrl_c_while_the_file_takes_nothing_more(tmp_path):
    child, errors, took = run_and_interrupt(
        tmp_path,
        """
        frame = np.zeros((256, 256, 3), np.uint8)
        with offramp.FrameWriter("-", format="raw", pixels="rgb24", abandon_after=0.5) as writer:
            for at in range(10000):
                if at == 1:
                    print("ready", file=sys.stderr, flush=True)
                writer.submit(frame)  # soon waits for a slot: nobody reads the pipe
        """,
    )
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
    assert took < 10
