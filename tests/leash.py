"""Servers that a test starts do not outlive it, however it ends."""

import ctypes
import signal

_LIBC = ctypes.CDLL(None)
_SET_PARENT_DEATH_SIGNAL = 1


def die_with_parent() -> None:
    """For `preexec_fn`: the kernel kills this process when the thread that started it ends, even by SIGKILL."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
