"""How much memory a step took: on the device, as far as it tells, and in the host arena."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

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


def _process_peak() -> int | None:
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", _STATUS.read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) * 1024
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
