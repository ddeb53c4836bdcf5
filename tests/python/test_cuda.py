# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import offramp

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or "cuda:0" not in offramp.devices():
    pytest.skip("no GPU that both torch and this build of offramp use", allow_module_level=True)


class Recorded:
    """A tensor that tells how it was asked for."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.asked = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.tensor.__dlpack__(**options)


def test_the_consumers_stream_is_named_and_waits(tmp_path):
    path = tmp_path / "out.rgb"
    streams = [torch.cuda.Stream() for _ in range(2)]
    expected = []
    with offramp.FrameWriter(path, range=(0, 255), axes="cnhw", pixels="rgb24") as writer:
        for at in range(20):
            with torch.cuda.stream(streams[at % 2]):
                torch.cuda._sleep(20_000_000)  # what makes the frames takes its time
                tensor = Recorded(torch.full((3, 4, 64, 64), at, device="cuda", dtype=torch.bfloat16))
                writer.submit(tensor)
            assert tensor.asked[-1]["stream"] not in (None, 0, 1, 2)
            expected += [at] * 4
    frames = np.fromfile(path, np.uint8).reshape(len(expected), -1)
    np.testing.assert_array_equal(frames, np.repeat(np.array(expected, np.uint8)[:, None], frames.shape[1], 1))


def test_the_hosts_bytes(tmp_path):
    video = torch.rand(1, 3, 5, 48, 80, generator=torch.Generator().manual_seed(1)) * 2.4 - 1.2
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for pixels in ("rgb24", "yuv420p", "yuv444p10"):
            files = []
            for device in ("cpu", "cuda"):
                path = tmp_path / f"{device}.raw"
                options = {"range": (-1, 1), "pixels": pixels, "overwrite": True}
                offramp.save_frames(video.to(device, dtype), path, axes="cnhw", **options)
                files.append(path.read_bytes())
            assert files[0] == files[1]


def test_memory_comes_back(tmp_path):
    with offramp.FrameWriter("null:", pixels="rgb24", axes="nhwc") as writer:
        for at in range(300):
            writer.submit(torch.empty(4, 256, 256, 3, device="cuda", dtype=torch.bfloat16))
            if at == 50:
                before = torch.cuda.memory_allocated()
        assert torch.cuda.memory_allocated() <= before + (16 << 20)
