# SPDX-License-Identifier: Apache-2.0
"""Moves tensors and frames off a GPU without stalling it.

    with offramp.FrameWriter("out.mp4", fps=16, range=(-1, 1)) as writer:
        for frames in decode():          # torch, CuPy or NumPy; on a GPU or the host
            writer.submit(frames)        # returns at once

    offramp.save_frames(decode(), "out.mp4", fps=16, range=(-1, 1))

    offramp.pack({"weight": array}, "model.ofr")
    with offramp.open("model.ofr") as archive:
        array = archive["weight"].numpy()
"""
from ._activity import Activity, GpuActivity
from ._archive import Archive, Tensor, open, pack, unpack
from ._errors import Cancelled, DataError, MachineError
from ._frames import FrameWriter, Report, save_frames
from ._offramp import Ticket, devices

__all__ = [
    "Activity",
    "Archive",
    "Cancelled",
    "DataError",
    "FrameWriter",
    "GpuActivity",
    "MachineError",
    "Report",
    "Tensor",
    "Ticket",
    "devices",
    "open",
    "pack",
    "save_frames",
    "unpack",
]
