# SPDX-License-Identifier: Apache-2.0
import ctypes
import errno
import gc
import json
import os
import threading
import time
import weakref

import numpy as np
import pytest

import offramp

RNG = np.random.default_rng(1)


def codes(values, low=0.0, high=1.0):
    """rgb24 of values, as the library's specification has it, in double precision."""
    units = (np.clip(values.astype(np.float64), low, high) - low) / (high - low)
    return np.rint(np.nan_to_num(units) * 255).astype(np.uint8)


def write(path, chunks, **options):
    with offramp.FrameWriter(path, **options) as writer:
        for chunk in chunks:
            writer.submit(chunk)
    return writer.report


def read(path, shape):
    return np.fromfile(path, np.uint8).reshape(shape)


def assert_near(got, expected):
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.uint16])
@pytest.mark.parametrize("axes", ["nhwc", "nchw", "cnhw"])
def test_frames_of_every_layout(tmp_path, dtype, axes):
    frames = RNG.uniform(-0.2, 1.2, (5, 7, 9, 3))
    high = 1.0
    if np.issubdtype(dtype, np.integer):
        high = float(np.iinfo(dtype).max)
        frames = np.clip(frames, 0, 1) * high
    frames = frames.astype(dtype)
    laid = np.ascontiguousarray(frames.transpose(["nhwc".index(a) for a in axes]))
    path = tmp_path / "out.rgb"
    report = write(path, [laid], axes=axes, pixels="rgb24")
    assert report.frames == 5
    assert_near(read(path, frames.shape), codes(frames, 0, high))


def test_views_with_any_strides(tmp_path):
    frames = RNG.uniform(-1, 1, (4, 6, 8, 3)).astype(np.float32)
    views = [frames[:, ::-1], frames[:, :, ::-1, ::-1], frames[::-1, ::2, ::2], np.broadcast_to(frames[:1], frames.shape)]
    for view in views:
        path = tmp_path / "out.rgb"
        write(path, [view], range=(-1, 1), axes="nhwc", pixels="rgb24", overwrite=True)
        assert_near(read(path, view.shape), codes(view, -1, 1))


def test_one_frame_at_a_time_and_read_only(tmp_path):
    frames = RNG.integers(0, 256, (41, 5, 6, 3), np.uint8)
    frames.flags.writeable = False
    path = tmp_path / "out.rgb"
    report = write(path, list(frames), pixels="rgb24")
    assert report.frames == 41
    assert report.format["width"] == 6 and report.format["height"] == 5
    assert report.counters["chunks_in"] == report.counters["chunks_out"] == 41
    np.testing.assert_array_equal(read(path, frames.shape), frames)


def test_a_batch_of_one_video_as_decoders_leave_it(tmp_path):
    video = RNG.integers(0, 256, (1, 3, 4, 6, 8), np.uint8)
    path = tmp_path / "out.rgb"
    write(path, [video, video[:, :, :1]], pixels="rgb24")
    expected = np.concatenate([video[0], video[0, :, :1]], 1).transpose(1, 2, 3, 0)
    np.testing.assert_array_equal(read(path, expected.shape), expected)


def test_a_chunk_that_may_be_two_things_is_what_the_ones_before_were(tmp_path):
    video = RNG.integers(0, 256, (3, 8, 6, 8), np.uint8)
    path = tmp_path / "out.rgb"
    write(path, [video[:, :5], video[:, 5:]], pixels="rgb24")
    expected = video.transpose(1, 2, 3, 0)
    np.testing.assert_array_equal(read(path, expected.shape), expected)


def test_values_that_are_no_number_are_black(tmp_path):
    frame = np.array([[np.nan, np.inf, -np.inf, 5, -5, 0.5]] * 2, np.float32)
    path = tmp_path / "out.gray"
    write(path, [frame], format="raw", pixels="gray8")
    assert read(path, (2, 6))[0].tolist() == [0, 255, 0, 255, 0, 128]


def test_torch_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.rand(3, 4, 6, 8, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    path = tmp_path / "out.rgb"
    write(path, [tensor * 2 - 1], range=(-1, 1), axes="cnhw", pixels="rgb24")
    expected = (tensor * 2 - 1).to(torch.float64).numpy().transpose(1, 2, 3, 0)
    assert_near(read(path, expected.shape), codes(expected, -1, 1))


def test_a_tensor_that_keeps_gradients(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4, 6, 3, requires_grad=True)
    write(tmp_path / "out.rgb", [tensor * 0.5, tensor], pixels="rgb24")
    assert read(tmp_path / "out.rgb", (2, 72))[:, 0].tolist() == [128, 255]


def test_arrays_are_let_go(tmp_path):
    class Array(np.ndarray):
        pass

    alive = []
    with offramp.FrameWriter("null:") as writer:
        for _ in range(20):
            array = np.zeros((4, 8, 8, 3), np.uint8).view(Array)
            alive.append(weakref.ref(array))
            ticket = writer.submit(array)
            del array
        ticket.wait_staged()
        writer.submit(np.zeros((8, 8, 3), np.uint8))  # gives back those that are staged
        gc.collect()
        assert sum(ref() is not None for ref in alive) == 0


def test_the_file_goes_on_while_the_gil_is_held():
    frames = np.zeros((16, 256, 256, 3), np.float32)
    with offramp.FrameWriter("null:", pixels="rgb24") as writer:
        writer.submit(frames).wait_durable()
        ticket = writer.submit(frames)
        ctypes.PyDLL(None).usleep(500_000)  # holds it
        assert ticket.state == "durable"


def test_a_thread_that_waits_lets_others_run():
    frames = np.broadcast_to(np.zeros((1024, 1024, 3), np.float32), (30, 1024, 1024, 3))
    waited = []
    with offramp.FrameWriter("null:", pixels="rgb24", axes="nhwc") as writer:

        def wait():
            ticket = writer.submit(frames)
            start = time.perf_counter()
            ticket.wait_durable()
            waited.append((start, time.perf_counter()))

        thread = threading.Thread(target=wait)
        thread.start()
        times = []
        while thread.is_alive():
            times.append(time.perf_counter())
            time.sleep(0.001)
        thread.join()
    (start, end), = waited
    assert end - start > 0.005
    assert sum(start < now < end for now in times) >= 3


def test_tickets(tmp_path):
    with offramp.FrameWriter(tmp_path / "out.rgb", pixels="rgb24") as writer:
        ticket = writer.submit(np.zeros((8, 8, 3), np.uint8))
        ticket.wait_staged()
        assert ticket.state in ("staged", "durable")
        ticket.wait_durable()
        assert ticket.state == "durable"


def test_several_threads_may_submit(tmp_path):
    path = tmp_path / "out.rgb"
    with offramp.FrameWriter(path, pixels="rgb24", host_slots=4) as writer:

        def produce(value):
            for _ in range(50):
                writer.submit(np.full((4, 8, 3), value, np.uint8))

        threads = [threading.Thread(target=produce, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    frames = read(path, (200, 4 * 8 * 3))
    assert (frames == frames[:, :1]).all()  # whole frames
    assert np.bincount(frames[:, 0]).tolist() == [50] * 4


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path):
    path = tmp_path / "out.rgb"
    with offramp.FrameWriter(path, pixels="rgb24") as writer:
        writer.submit(np.zeros((4, 8, 3), np.uint8))
        with pytest.raises(ValueError, match="4x8"):
            writer.submit(np.zeros((8, 4, 3), np.uint8))
        with pytest.raises(ValueError, match="fp64"):
            writer.submit(np.zeros((4, 8, 3), np.float64))
        with pytest.raises(TypeError):
            writer.submit(object())
        writer.submit(np.ones((4, 8, 3), np.uint8))
    assert read(path, (2, 96))[:, 0].tolist() == [0, 1]


def test_use_after_close(tmp_path):
    writer = offramp.FrameWriter(tmp_path / "out.rgb", pixels="rgb24")
    writer.submit(np.zeros((4, 8, 3), np.uint8))
    assert writer.close().frames == 1
    assert writer.close().frames == 1
    with pytest.raises(ValueError, match="closed"):
        writer.submit(np.zeros((4, 8, 3), np.uint8))


def test_options_are_checked_before_any_work(tmp_path):
    for options in ({"fps": 0}, {"fps": -1}, {"pixels": "yuv9"}, {"matrix": "bt2020"}, {"color_range": "wide"}):
        with pytest.raises(ValueError):
            offramp.FrameWriter(tmp_path / "out.y4m", **options)
    with pytest.raises(offramp.DataError):
        offramp.FrameWriter(tmp_path / "out.unknown")
    assert not os.listdir(tmp_path)


def test_a_file_that_exists_is_kept(tmp_path):
    path = tmp_path / "out.rgb"
    path.write_bytes(b"mine")
    with pytest.raises((OSError, offramp.DataError)):
        write(path, [np.zeros((4, 8, 3), np.uint8)], pixels="rgb24")
    assert path.read_bytes() == b"mine"
    write(path, [np.zeros((4, 8, 3), np.uint8)], pixels="rgb24", overwrite=True)
    assert path.stat().st_size == 96


def test_an_exception_keeps_what_was_written(tmp_path):
    path = tmp_path / "out.rgb"
    with pytest.raises(ZeroDivisionError) as caught:
        with offramp.FrameWriter(path, pixels="rgb24") as writer:
            writer.submit(np.full((3, 4, 8, 3), 7, np.uint8)).wait_durable()
            1 / 0
    assert not path.exists()
    assert writer.partial_path and writer.partial_path in caught.value.__notes__[-1]
    assert read(writer.partial_path, (3, 96)).min() == 7


def test_a_full_disk_names_the_frame():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    frames = np.zeros((8, 64, 64, 3), np.uint8)
    with pytest.raises(OSError) as caught:
        with offramp.FrameWriter("/dev/full", format="raw", pixels="rgb24", overwrite=True) as writer:
            for _ in range(100):
                writer.submit(frames)
    assert caught.value.errno == errno.ENOSPC
    assert any("frame" in note for note in caught.value.__notes__)


def test_the_trace_is_written(tmp_path):
    path = tmp_path / "trace.json"
    with offramp.FrameWriter("null:", pixels="rgb24", trace=path) as writer:
        writer.submit(np.zeros((8, 64, 64, 3), np.uint8))
    stages = {event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"}
    assert {"convert", "write"} <= stages


def test_or_removes_it(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with offramp.FrameWriter(tmp_path / "out.rgb", pixels="rgb24", keep_partial=False) as writer:
            writer.submit(np.zeros((3, 4, 8, 3), np.uint8)).wait_durable()
            1 / 0
    assert writer.partial_path is None
    assert not os.listdir(tmp_path)


def test_cancel_from_another_thread(tmp_path):
    with pytest.raises(offramp.Cancelled):
        with offramp.FrameWriter(tmp_path / "out.rgb", pixels="rgb24") as writer:
            writer.submit(np.zeros((4, 8, 3), np.uint8))
            threading.Timer(0.05, writer.cancel).start()
            end = time.monotonic() + 10
            while time.monotonic() < end:
                writer.submit(np.zeros((4, 8, 3), np.uint8))


def test_an_array_of_an_absent_gpu_is_refused(tmp_path):
    if "cuda:7" in offramp.devices():
        pytest.skip("there is such a GPU")

    class Array:
        def __dlpack_device__(self):
            return (2, 7)

        def __dlpack__(self, **_):
            raise AssertionError("asked for, though nothing can read it")

    with pytest.raises((offramp.DataError, ValueError, offramp.MachineError), match="cuda"):
        offramp.FrameWriter(tmp_path / "out.rgb").submit(Array())


def test_many_writers(tmp_path):
    for at in range(100):
        with offramp.FrameWriter(tmp_path / "out.rgb", pixels="rgb24", overwrite=True) as writer:
            if at % 2:
                writer.submit(np.zeros((4, 8, 3), np.uint8))
