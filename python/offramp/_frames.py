# SPDX-License-Identifier: Apache-2.0
"""Frames into files while the next ones are made."""
from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
from fractions import Fraction
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from . import _offramp

Rate = Union[int, float, Fraction, Tuple[int, int]]


def _rate(fps: Rate) -> Tuple[int, int]:
    try:
        rate = Fraction(*fps) if isinstance(fps, tuple) else Fraction(fps)
    except (TypeError, ValueError, ArithmeticError):  # of None, "x", infinity, (1, 0)
        rate = Fraction(0)
    if isinstance(fps, float):
        rate = rate.limit_denominator(1000)
        for base in (24, 30, 48, 60, 120):  # 23.976, 29.97, ...
            if abs(fps - base * 1000 / 1001) < 0.002:
                rate = Fraction(base * 1000, 1001)
    if rate <= 0 or rate.numerator >= 2**32 or rate.denominator >= 2**32:
        raise ValueError(f"fps={fps} is no frame rate: give a positive number such as 24 or (24000, 1001)")
    return rate.numerator, rate.denominator


def _path(path: Union[str, "os.PathLike[str]"]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"path={path!r} is no text")
    if "\0" in text:  # what the system would take for its end
        raise ValueError(f"path={path!r} holds a null character")
    return text


def _range(values: Optional[Tuple[float, float]]) -> Optional[Tuple[float, float]]:
    if values is None:
        return None
    try:
        low, high = values
        return float(low), float(high)
    except (TypeError, ValueError):
        raise ValueError(f"range={values!r} is no range: give the values of black and white, such as (-1, 1)") from None


def _as_array(frames: Any) -> Any:
    """What speaks DLPack as it is; anything that NumPy reads (a PIL image, a list) through NumPy."""
    if hasattr(frames, "__dlpack__"):
        # torch lends nothing that it may have to differentiate.
        return frames.detach() if getattr(frames, "requires_grad", False) else frames
    try:
        import numpy
    except ImportError:
        raise TypeError(f"{type(frames).__name__} is no array: it has no __dlpack__, and NumPy is not installed") from None
    array = numpy.asarray(frames)
    if array.dtype == object:
        raise TypeError(f"{type(frames).__name__} is no array of numbers")
    return array


def _on_host(array: Any) -> bool:
    return array.__dlpack_device__()[0] in (1, 3)


@dataclasses.dataclass(frozen=True)
class Report:
    """What a writer has done."""

    path: str
    frames: int  #: that the file holds, by its own count
    format: Optional[Dict[str, Any]]  #: pixels, width, height, fps; None where no frame came
    counters: Dict[str, int]  #: as the C++ library's Counters have them


class FrameWriter:
    """Writes frames to a video, pictures or an array file, while the program makes the next ones.

    ``path`` chooses the kind: .mp4 .mkv .y4m .png (a pattern such as frame_%05d.png, or a folder)
    .npy .safetensors .rgb .yuv .raw, ``-`` for standard output, ``null:`` for nowhere.

    ``range`` are the values that mean black and white, such as (-1, 1); unless given, (0, 1) for
    floating point, and all values of uint8 and uint16. Values outside are clamped, NaN is black.

    ``axes`` names the axes of the arrays, such as "nhwc", "cnhw" or "hw": n frames, h rows, w
    columns, c channels (1, 3 or 4). Unless given they are guessed from the first array.

    ``fps`` may be a fraction, ``pixels`` the pixels in the file: gray8 gray16 rgb24 rgba32 rgb48
    rgba64 yuv420p yuv444p yuv420p10 yuv444p10. ``codec`` and ``preset`` are FFmpeg's names of an
    encoder and its preset, ``quality`` its constant rate factor, ``level`` PNG's compression.

    ``threads`` code pictures; ``encoder_threads`` is what a video encoder may use. ``drop`` leaves
    frames out where all slots are in use, instead of waiting. A writer that failed waits at most
    ``abandon_after`` seconds for what does not return.

    ``trace`` is a file for a timeline of converting, copying, coding, writing and stalls, which
    ui.perfetto.dev shows.

    Leaving the ``with`` block completes the file; leaving it by an exception keeps what was written
    so far in a file beside it, which the exception's notes name (``keep_partial=False``: removes
    it).
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        fps: Rate = 24,
        range: Optional[Tuple[float, float]] = None,
        axes: Optional[str] = None,
        pixels: Optional[str] = None,
        matrix: str = "bt709",
        color_range: str = "limited",
        format: Optional[str] = None,
        codec: Optional[str] = None,
        quality: Optional[int] = None,
        preset: Optional[str] = None,
        level: Optional[int] = None,
        frames: Optional[int] = None,
        overwrite: bool = False,
        threads: int = 0,
        encoder_threads: int = 0,
        slot_size: int = 0,
        device_slots: int = 2,
        host_slots: int = 0,
        drop: bool = False,
        keep_partial: bool = True,
        abandon_after: float = 10.0,
        trace: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        self._core = _offramp.Writer(
            _path(path),
            fps=_rate(fps),
            range=_range(range),
            axes=axes or "",
            pixels=pixels or "",
            matrix=matrix,
            color_range=color_range,
            format=format or "",
            encoder=codec or "",
            quality=quality,
            preset=preset or "",
            trace="" if trace is None else _path(trace),
            level=level,
            frames=frames,
            overwrite=overwrite,
            threads=threads,
            encoder_threads=encoder_threads,
            slot_size=slot_size,
            device_slots=device_slots,
            host_slots=host_slots,
            drop=drop,
            keep_partial=keep_partial,
            abandon_after=abandon_after,
        )
        self._beginning = threading.Lock()
        self._closing = threading.RLock()  # a signal's handler may close what its thread closes
        self._partial_path: Optional[str] = None

    def submit(self, frames: Any) -> _offramp.Ticket:
        """Takes one frame or several, in any layout, from whatever speaks DLPack, and returns at
        once: it waits only where all slots are in use.

        The array must not be changed before its ticket is staged (``wait_staged``); it may be let
        go at once. An array on a GPU is read behind the work that its library has put on its
        current stream so far.
        """
        array = _as_array(frames)
        if not self._core.began:
            with self._beginning:
                if not self._core.began:
                    self._core.begin(array)
        return self._core.submit(array)

    def close(self) -> Report:
        """Waits until everything is written, and completes the file. Raises what went wrong."""
        with self._closing:
            try:
                self._core.close()
            except BaseException as error:
                self._abandon(error)
                raise
            return self.report

    def cancel(self) -> None:
        """Ends every call of this writer, in any thread, with Cancelled."""
        self._core.cancel()

    @property
    def report(self) -> Report:
        return Report(self._core.path, self._core.frames_out, self._core.format, self.counters)

    @property
    def counters(self) -> Dict[str, int]:
        return json.loads(self._core.counters())

    @property
    def partial_path(self) -> Optional[str]:
        """Where the frames of a writer that failed are; None where there is nothing."""
        return self._partial_path

    def _abandon(self, error: Optional[BaseException]) -> None:
        partial = self._core.abandon()
        self._partial_path = partial or None
        if error is None or not hasattr(error, "add_note"):  # Python 3.10 has no notes
            return
        if self._core.failure:
            error.add_note(f"offramp: {self._core.failure}")
        if partial:
            error.add_note(f"offramp: what was written so far is in {partial}")

    def __enter__(self) -> "FrameWriter":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is None:
            self.close()
        else:
            self._abandon(error)


class _Bar:
    """tqdm where it is installed and wanted; else nothing."""

    def __init__(self, wanted: Optional[bool], total: Optional[int], name: str) -> None:
        self._bar = None
        self._shown = 0
        if wanted is None:
            wanted = sys.stderr is not None and sys.stderr.isatty()
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, unit="frame", desc=name)

    def show(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._shown)
            self._shown = done

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def save_frames(
    frames: Any,
    path: Union[str, "os.PathLike[str]"],
    *,
    fps: Rate = 24,
    range: Optional[Tuple[float, float]] = None,
    progress: Optional[bool] = None,
    **options: Any,
) -> Report:
    """Writes every frame of ``frames``: an array, or an iterable of arrays, images or chunks of
    frames, which are written while the iterable makes the next ones.

    An array of the host that the iterable yields may be reused once it is asked for the next one;
    one on a GPU must be left alone until it is let go, as with FrameWriter. ``progress`` shows
    frames that are written (through tqdm; None: on a terminal). Other options are FrameWriter's.
    """
    single = hasattr(frames, "__dlpack__")
    items: Iterable[Any] = (frames,) if single else frames
    total = options.get("frames")
    bar = _Bar(progress, total, os.path.basename(os.fspath(path)))
    try:
        with FrameWriter(path, fps=fps, range=range, **options) as writer:
            for item in items:
                array = _as_array(item)
                ticket = writer.submit(array)
                if not single and _on_host(array):
                    ticket.wait_staged()
                bar.show(writer.counters.get("parts_out", 0))
            if not writer._core.began:
                raise ValueError(f"{os.fspath(path)}: no frames came, so nothing was written")
            report = writer.close()
            bar.show(report.frames)
    finally:
        bar.close()
    return report
