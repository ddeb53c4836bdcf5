# SPDX-License-Identifier: Apache-2.0
"""What the library raises beside Python's own OSError, MemoryError and ValueError."""


class _Coded:
    code: str = ""  #: the library's name of the error, such as "bad_checksum"
    path: str = ""  #: the file, where there is one


class DataError(_Coded, ValueError):
    """Data or a request was refused."""


class MachineError(_Coded, RuntimeError):
    """The machine failed: a device, or memory of it."""


class Cancelled(_Coded, RuntimeError):
    """The work was cancelled."""
