# SPDX-License-Identifier: Apache-2.0
"""What programs do to a writer that it was not made for: forks, races, arguments that are none."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import offramp

CHUNK = np.zeros((4, 48, 64, 3), np.uint8)


def in_fork(body):
    """The exit status of `body` in a forked process; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = body()
        finally:
            os._exit(status)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "it hung"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["out.y4m", "out_%d.png"])
def test_a_forked_process_leaves_the_file_alone(tmp_path, name):
    with offramp.FrameWriter(tmp_path / name) as writer:
        writer.submit(CHUNK).wait_durable()

        def child():
            for call in (lambda: writer.submit(CHUNK), writer.close):
                with pytest.raises(ValueError, match="forked"):
                    call()
            try:
                with writer:
                    raise KeyError
            except KeyError:
                return 42

        def child_that_only_lets_go():
            writer.__dict__.clear()
            return 42

        assert in_fork(child) == 42
        assert in_fork(child_that_only_lets_go) == 42
        assert [path.name for path in tmp_path.iterdir() if ".tmp-" not in path.name] == []
        writer.submit(CHUNK)
    assert writer.report.frames == 8


def test_every_close_waits_for_the_end(tmp_path):
    writer = offramp.FrameWriter(tmp_path / "out_%d.png", level=9)
    writer.submit(np.repeat(CHUNK, 20, 0))
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(writer.close().frames)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [80] * 4


def test_what_is_left_is_named_while_another_thread_submits(tmp_path):
    begun = threading.Event()

    def submit(writer):
        try:
            while True:
                writer.submit(CHUNK)
                begun.set()
        except (offramp.Cancelled, ValueError):  # closed, where it comes later
            pass

    for _ in range(5):
        begun.clear()
        with pytest.raises(KeyError):
            with offramp.FrameWriter(tmp_path / "out.y4m") as writer:
                thread = threading.Thread(target=submit, args=(writer,))
                thread.start()
                begun.wait(20)
                while writer.counters["parts_out"] == 0:
                    time.sleep(0.001)
                raise KeyError
        thread.join()
        assert writer.partial_path
        os.unlink(writer.partial_path)


def test_cancelled_before_the_first_frame(tmp_path):
    writer = offramp.FrameWriter(tmp_path / "out.y4m")
    writer.cancel()
    with pytest.raises(offramp.Cancelled):
        writer.submit(CHUNK)
    with pytest.raises(offramp.Cancelled):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_interrupted_while_nobody_reads_the_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.y4m")
    writer = offramp.FrameWriter(tmp_path / "pipe.y4m")
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        writer.submit(CHUNK)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), 1e-9, 1e12, (1, 0), (0, 1), (1, 2, 3), "x", None])
def test_what_is_no_rate(fps):
    with pytest.raises(ValueError, match="is no frame rate"):
        offramp.FrameWriter("null:", fps=fps)


@pytest.mark.parametrize("values", [(5,), (1, 2, 3), "ab", 3, (None, 1)])
def test_what_is_no_range(values):
    with pytest.raises(ValueError, match="is no range"):
        offramp.FrameWriter("null:", range=values)


def test_what_is_no_path(tmp_path):
    with pytest.raises(ValueError, match="null character"):
        offramp.FrameWriter(f"{tmp_path}/a\0b.y4m")
    with pytest.raises(TypeError, match="is no text"):
        offramp.FrameWriter(b"out.y4m")


def test_a_number_is_no_frame():
    with offramp.FrameWriter("null:") as writer:
        with pytest.raises(ValueError, match=r"shape \(\) have no known axes"):
            writer.submit(np.float32(1))
