"""Where a run computes: the device, and how many CPU threads."""

import ctypes
import sys
from collections.abc import Mapping

import torch

from darkpy.errors import SetupError
from darkpy.tasks._network import say

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
_LARGEST_BLOCKS = (2**30, 2**25)  # bytes that malloc keeps; older glibc allows the second at most


def choose_device(device: str | None, *, gpus: tuple[int, ...] | None) -> tuple[torch.device, tuple[str, ...]]:
    """Return the device to compute on, and notes for stderr.

    Args:
        device: ``cpu``, ``cuda``, ``cuda:N``, ``mps``, ``xpu`` or ``xpu:N``; None takes the fastest there is.
        gpus: CUDA devices by number, as ``-gpus`` and ``-i`` give them. Without CUDA they are passed over, with a note.

    Raises:
        SetupError: If the device is not there, or ``gpus`` names more than one.
    """
    if device is not None:
        notes = (f"{_option(gpus)} has no effect beside -device {device}.",) if gpus else ()
        return _named(device), notes
    if not gpus:
        return fastest_device(), ()
    if len(gpus) > 1:
        raise SetupError(
            f"{_option(gpus)}: {len(gpus)} devices, but darkpy uses one for now. Name one: -gpus {gpus[0]}."
        )
    if not torch.cuda.is_available():
        chosen = fastest_device()
        return chosen, (
            f"{_option(gpus)}: PyTorch finds no CUDA device on this machine, so this runs on {chosen.type}.",
        )
    return _numbered("cuda", gpus[0]), ()


def use_device(device: str | None, *, gpus: tuple[int, ...] | None, threads: int | None) -> torch.device:
    """Set the CPU threads, choose the device, say its notes on stderr and return it.

    Raises:
        SetupError: As ``choose_device``.
    """
    set_threads(threads)
    chosen, notes = choose_device(device, gpus=gpus)
    for note in notes:
        say(note)
    return chosen


def fastest_device() -> torch.device:
    """Return the first of CUDA, Apple's MPS, Intel's XPU and the CPU that is there."""
    return next((torch.device(kind) for kind in ("cuda", "mps", "xpu") if _count(kind)), torch.device("cpu"))


def set_threads(threads: int | None) -> None:
    """Let PyTorch compute with ``threads`` CPU threads; None leaves its choice, one a core."""
    if threads is not None:
        torch.set_num_threads(threads)


def keep_freed_memory(environment: Mapping[str, str], *, platform: str = sys.platform) -> bool:
    """Let glibc keep large blocks that are freed, for the next step to use; return whether it does.

    Without that every activation of a training step on the CPU is mapped anew, page by page: a tenth of the time of
    yolov4-tiny. Whoever sets glibc's own variables in the environment is left alone.

    Args:
        environment: The process's environment.
        platform: As ``sys.platform``.
    """
    if not platform.startswith("linux") or any(name.startswith("MALLOC_") for name in environment):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library, such as musl
        return False
    kept = any(mallopt(_MMAP_THRESHOLD, largest) for largest in _LARGEST_BLOCKS)
    return bool(kept and mallopt(_TRIM_THRESHOLD, 2**31 - 1))


def _named(device: str) -> torch.device:
    kind, _, number = device.partition(":")
    return torch.device("cpu") if kind == "cpu" else _numbered(kind, int(number or 0))


def _numbered(kind: str, number: int) -> torch.device:
    count = _count(kind)
    if number >= count:
        there = f"this machine has {kind}:0 to {kind}:{count - 1}" if count else f"PyTorch finds no {kind} device here"
        mend = f"Write -device {kind}:0" if count else f"Write -device {fastest_device().type}, or leave -device out"
        raise SetupError(f"{kind}:{number}: {there}. {mend}.")
    return torch.device(kind, number)


def _count(kind: str) -> int:
    """Return how many devices of a kind PyTorch can use."""
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    module = torch.cuda if kind == "cuda" else torch.xpu
    return module.device_count() if module.is_available() else 0


def _option(gpus: tuple[int, ...] | None) -> str:
    return f"-gpus {','.join(map(str, gpus or ()))}"
