# SPDX-License-Identifier: Apache-2.0
"""Tensors into archives and back."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from . import _offramp

Path = Union[str, "os.PathLike[str]"]


# Types that NumPy has not, and their size.
_BITS = {"bf16": 16, "fp8_e4m3": 8, "fp8_e5m2": 8}


class Tensor:
    """A tensor of an archive, in memory. Speaks DLPack: ``numpy.from_dlpack(tensor)``,
    ``torch.from_dlpack(tensor)``, which copy nothing."""

    def __init__(self, array: Any, dtype: str, shape: Tuple[int, ...]) -> None:
        self._array = array
        self.dtype = dtype  #: offramp's name: "bf16", "fp32", "u8", ...
        self.shape = shape

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._array.__dlpack_device__()

    def numpy(self) -> Any:
        """As an array of NumPy, which has neither bfloat16 nor 8-bit floats: see ``bits``."""
        import numpy

        if self.dtype in _BITS:
            raise TypeError(f"NumPy has no {self.dtype}: take .torch(), or the {_BITS[self.dtype]} bits by .bits()")
        return numpy.from_dlpack(self)

    def bits(self) -> Any:
        """The values' bits, as unsigned integers of NumPy."""
        import numpy

        return numpy.from_dlpack(_offramp.bits_of(self._array))

    def torch(self) -> Any:
        import torch

        return torch.from_dlpack(self)

    def __repr__(self) -> str:
        return f"offramp.Tensor({self.dtype}, {self.shape})"


class Archive(Mapping[str, Tensor]):
    """An archive that is read tensor by tensor, as they are asked for."""

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        self._core: Optional[_offramp.Archive] = _offramp.Archive(os.fspath(path), threads)
        self.path = os.fspath(path)

    @property
    def _open(self) -> _offramp.Archive:
        if self._core is None:
            raise ValueError(f"{self.path}: the archive is closed")
        return self._core

    def __getitem__(self, name: str) -> Tensor:
        dtype, shape, _ = self._open.describe(name)
        return Tensor(self._open.read(name), dtype, shape)

    def rows(self, name: str, start: int, stop: int) -> Tensor:
        """Rows ``start`` to ``stop`` of a tensor, by its first axis. Reads and decodes only the
        blocks that hold some of them."""
        dtype, shape, _ = self._open.describe(name)
        if not 0 <= start <= stop:
            raise IndexError(f"rows {start} to {stop}")
        array = self._open.read(name, start, stop - start, True)
        return Tensor(array, dtype, (stop - start,) + shape[1:])

    def describe(self, name: str) -> Tuple[str, Tuple[int, ...], int]:
        """dtype, shape, and bytes in the archive."""
        return self._open.describe(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._open.names())

    def __len__(self) -> int:
        return len(self._open.names())

    def __contains__(self, name: object) -> bool:
        return name in self._open.names()

    @property
    def metadata(self) -> Dict[str, str]:
        return dict(self._open.metadata())

    @property
    def complete(self) -> bool:
        """Whether nothing of the file is missing."""
        return self._open.complete

    def close(self) -> None:
        self._core = None

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def open(path: Path, *, threads: int = 0) -> Archive:
    """Opens an archive, whole or cut."""
    return Archive(path, threads=threads)


def _contiguous(array: Any) -> Any:
    if hasattr(array, "contiguous"):  # torch
        return array.contiguous()
    try:
        import numpy
    except ImportError:
        return array
    return numpy.ascontiguousarray(array) if isinstance(array, numpy.ndarray) and array.ndim else array


def pack(
    tensors: Union[Mapping[str, Any], Path],
    out: Path,
    *,
    codec: str = "exact",
    metadata: Optional[Mapping[str, str]] = None,
    overwrite: bool = False,
    threads: int = 0,
) -> Tuple[int, int]:
    """Packs arrays of the host, by their names, or a .safetensors or .npy file or a folder, into an
    archive. Returns how many tensors and how many bytes of theirs there were."""
    if isinstance(tensors, Mapping):
        arrays = [(name, _contiguous(array)) for name, array in tensors.items()]
        pairs = [] if metadata is None else list(metadata.items())
        return _offramp.pack_arrays(arrays, os.fspath(out), codec, pairs, overwrite, threads)
    if metadata is not None:
        raise ValueError("metadata is for arrays: a file brings its own")
    return _offramp.pack_file(os.fspath(tensors), os.fspath(out), codec, overwrite, threads)


def unpack(
    path: Path,
    out: Optional[Path] = None,
    *,
    overwrite: bool = False,
    threads: int = 0,
) -> Union[Dict[str, Tensor], Tuple[int, int]]:
    """Restores an archive: into a .safetensors or .npy file or a folder, or, without ``out``, into
    memory."""
    if out is None:
        with open(path, threads=threads) as archive:
            return {name: archive[name] for name in archive}
    return _offramp.unpack_file(os.fspath(path), os.fspath(out), overwrite, threads)
