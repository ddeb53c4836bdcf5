# SPDX-License-Identifier: Apache-2.0
import pytest

import offramp


def test_says_why_there_is_none():
    if not offramp.GpuActivity.why_not():
        pytest.skip("this machine has CUPTI")
    with pytest.raises(offramp.DataError) as failure:
        with offramp.GpuActivity():
            pass
    assert failure.value.code == "unsupported"
    assert offramp.GpuActivity.why_not() in str(failure.value)


def test_has_nothing_to_report_before():
    with pytest.raises(ValueError, match="nothing was recorded"):
        offramp.GpuActivity().report


def test_tells_the_share_in_which_kernels_ran():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or offramp.GpuActivity.why_not():
        pytest.skip("no GPU, or no CUPTI")
    import time

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    with offramp.GpuActivity() as gpu:
        start.record()
        torch.cuda._sleep(200_000_000)
        end.record()
        torch.cuda.synchronize()
        time.sleep(0.2)
    report = gpu.report
    assert report.kernels == 1 and report.lost == 0
    assert report.busy == pytest.approx(start.elapsed_time(end) / 1e3, rel=0.02)
    assert report.wall > 0.2 + report.busy
    assert report.busy_share == report.busy / report.wall
