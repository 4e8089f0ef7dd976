"""How much more host memory this process may have, and what holds it back.

Linux gives memory away lazily: whoever takes more than there is, is killed when it is written to, not refused. So what
the machine, the control groups (containers) and the process's own limits say is read before a block is made. Where
nothing can be read (macOS, Windows) nothing is held against it: then the system itself refuses, or does not.

Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; man proc(5), getrlimit(2).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from darkpy.errors import MemoryPlanError

RESERVE = 256 * 2**20  # bytes, or this share of the machine's memory if that is more: for everything else
RESERVE_SHARE = 0.05
ADVICE = "Set optimized_memory=1, a larger subdivisions= (a smaller mini-batch), or offload_file= to use a disk."
_NO_LIMIT = 2**60  # bytes; control groups of version 1 write a number near 2**63 where there is none


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that bounds what this process may have."""

    text: str  # a clause with its name and its value
    left: int  # bytes that may still be had; less than 0 if more is used than allowed


def soft_limit(name: str) -> int | None:
    """Return a limit of this process in bytes, None if there is none.

    Args:
        name: As ``resource`` has it: ``RLIMIT_AS``, ``RLIMIT_DATA`` or ``RLIMIT_MEMLOCK``.
    """
    if sys.platform == "win32":
        return None
    import resource

    number = getattr(resource, name, None)
    if number is None:
        return None
    value = resource.getrlimit(number)[0]
    return None if value == resource.RLIM_INFINITY else value


def limits(
    proc: Path = Path("/proc"),
    *,
    groups: Path = Path("/sys/fs/cgroup"),
    of_process: Callable[[str], int | None] = soft_limit,
) -> list[Limit]:
    """Return all that bounds the memory of this process, as far as the system tells.

    Args:
        proc: Where Linux shows its processes.
        groups: Where it shows the control groups.
        of_process: Gives a limit of the process by its name.
    """
    return [*_of_machine(proc), *_of_groups(proc, groups), *_of_process(proc, of_process)]


def check_room(nbytes: int, found: Sequence[Limit], *, asked: str) -> None:
    """Check that so much memory may be had.

    Args:
        nbytes: What is wanted.
        found: As ``limits`` returns it.
        asked: What is wanted, for the message.

    Raises:
        MemoryPlanError: If the tightest of the limits leaves less.
    """
    tightest = min(found, key=lambda limit: limit.left, default=None)
    if tightest is not None and tightest.left < nbytes:
        raise MemoryPlanError(f"{asked} cannot be had: {tightest.text}. {ADVICE}")


def size_text(nbytes: int) -> str:
    """Return a size in GiB, or in MiB below a tenth of that."""
    return f"{nbytes / 2**30:.2f} GiB" if abs(nbytes) >= 0.1 * 2**30 else f"{nbytes / 2**20:.2f} MiB"


def _of_machine(proc: Path) -> Iterator[Limit]:
    memory = numbers_in(proc / "meminfo", unit=1024)
    if "MemAvailable" in memory:
        free = memory["MemAvailable"]
        reserve = max(RESERVE, int(RESERVE_SHARE * memory.get("MemTotal", 0)))
        yield Limit(
            f"the machine has {size_text(free)} to give (MemAvailable), {size_text(reserve)} of which are left alone",
            free - reserve,
        )
    is_strict = _read(proc / "sys/vm/overcommit_memory").strip() == "2"
    if is_strict and {"CommitLimit", "Committed_AS"} <= memory.keys():
        limit, used = memory["CommitLimit"], memory["Committed_AS"]
        yield Limit(f"the machine promises {_used_of(used, limit)} (CommitLimit, vm.overcommit_memory=2)", limit - used)


def _of_groups(proc: Path, groups: Path) -> Iterator[Limit]:
    for line in _read(proc / "self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for folder in _upwards(groups, path):
                yield from _of_group(
                    folder, files=("memory.max", "memory.high"), usage="memory.current", cache="{}active_file"
                )
        elif "memory" in controllers.split(","):
            for folder in _upwards(groups / "memory", path):
                yield from _of_group(
                    folder,
                    files=("memory.limit_in_bytes",),
                    usage="memory.usage_in_bytes",
                    cache="total_{}active_file",
                )


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """Yield a group's folder and those that it is in; within a container only the root may be there."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for length in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:length])


def _of_group(folder: Path, *, files: Sequence[str], usage: str, cache: str) -> Iterator[Limit]:
    used_text = _read(folder / usage).strip()
    if not used_text.isdecimal():
        return
    pages = numbers_in(folder / "memory.stat")  # files that were read: given up when memory is short
    used = max(int(used_text) - sum(pages.get(cache.format(prefix), 0) for prefix in ("", "in")), 0)
    for name in files:
        value = _read(folder / name).strip()
        if value.isdecimal() and int(value) < _NO_LIMIT:  # else "max"
            yield Limit(f"the control group allows {_used_of(used, int(value))} ({folder / name})", int(value) - used)


def _of_process(proc: Path, of_process: Callable[[str], int | None]) -> Iterator[Limit]:
    status = numbers_in(proc / "self/status", unit=1024)
    for name, option, key in (("RLIMIT_AS", "-v", "VmSize"), ("RLIMIT_DATA", "-d", "VmData")):
        value = of_process(name)
        if value is not None and key in status:
            used = status[key]
            yield Limit(f"the process may have {_used_of(used, value)} ({name}, ulimit {option})", value - used)


def _used_of(used: int, limit: int) -> str:
    return f"{size_text(limit)}, of which {size_text(used)} are used"


def numbers_in(path: Path, *, unit: int = 1) -> dict[str, int]:
    """Return the numbers of a file of lines like ``MemFree:  10130640 kB`` or ``active_file 4096``, times a unit."""
    found = {}
    for line in _read(path).splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].isdecimal():
            found[words[0].removesuffix(":")] = int(words[1]) * unit
    return found


def _read(path: Path) -> str:
    """Return a file's text; none if it cannot be read."""
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
