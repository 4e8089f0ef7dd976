"""How much memory a step took: on the device, as far as it tells, and in the host arena."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from darkpy.memory.limits import numbers_in
from darkpy.memory.tiers import TieredMemory

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes, at most, since the process began."""

    device: int | None  # of tensors; on a CPU of the whole process; None where nobody tells
    arena: int  # of host memory that was in use
    blocks: int  # of host memory


def usage(memory: TieredMemory, device: torch.device) -> Usage:
    """Return what was used so far; does not wait for the device."""
    arena = memory.arena
    return Usage(device_peak(device), arena.peak if arena else 0, arena.blocks if arena else 0)


def device_peak(device: torch.device) -> int | None:
    """Return the bytes that tensors took on a device at most; on a CPU those of the process."""
    if device.type == "cpu":
        return _process_peak()
    if device.type == "mps":
        return int(torch.mps.driver_allocated_memory())  # what is held now: the peak is not told
    module = getattr(torch, device.type, None)
    peak = getattr(module, "max_memory_allocated", None)
    return None if peak is None else int(peak(device))


def of_process(key: str) -> int | None:
    """Return bytes that Linux tells of this process, by their name there: ``VmRSS``, ``VmHWM``; None elsewhere."""
    return numbers_in(_STATUS, unit=1024).get(key)


def _process_peak() -> int | None:
    found = of_process("VmHWM")
    if found is not None or sys.platform == "win32":
        return found
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
