# SPDX-License-Identifier: Apache-2.0
"""How busy the GPU is."""
from __future__ import annotations

import dataclasses
from typing import Any, Optional

from . import _offramp


@dataclasses.dataclass(frozen=True)
class Activity:
    """What the GPUs of this process did while a GpuActivity recorded. Times are in seconds."""

    wall: float  #: from its start to its end
    busy: float  #: in which a kernel ran: the union over all streams
    to_host: float  #: in which a copy to the host ran, likewise
    to_device: float  #: in which a copy to a device ran
    kernels: int
    lost: int  #: records that CUPTI had no room for: with any, ``busy`` is too small

    @property
    def busy_share(self) -> float:
        """GPU busy, 0 to 1."""
        return self.busy / self.wall if self.wall > 0 else 0.0


class GpuActivity:
    """Records by CUPTI when kernels and copies of this process run, those of every library.

        with offramp.GpuActivity() as gpu:
            generate()
            torch.cuda.synchronize()         # what is not done yet is not counted
        print(f"{gpu.report.busy_share:.1%} busy")

    Raises DataError where there is no CUPTI (``GpuActivity.why_not()`` says why), and where another
    profiler records. Costs each kernel launch about a microsecond or two.
    """

    def __init__(self) -> None:
        self._recording: Optional[Any] = None
        self._report: Optional[Activity] = None

    @staticmethod
    def why_not() -> str:
        """Why nothing can be recorded here; empty where it can."""
        return _offramp.why_no_activity()

    def __enter__(self) -> "GpuActivity":
        recording = _offramp.Recording()
        recording.start()
        self._recording, self._report = recording, None
        return self

    def __exit__(self, *_: Any) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            self._report = Activity(**recording.stop())

    @property
    def report(self) -> Activity:
        if self._report is None:
            raise ValueError("nothing was recorded yet: use it as `with offramp.GpuActivity() as gpu:`")
        return self._report
