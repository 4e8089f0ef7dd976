"""``detector memory -measure``: one real step on the CPU, in a process of its own, beside what was predicted."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from darkpy.blueprint import Blueprint
from darkpy.errors import SetupError
from darkpy.memory.copies import CHUNK
from darkpy.memory.limits import limits
from darkpy.memory.plan import LIBRARIES
from darkpy.memory.tiers import OFFLOADING, RESTING
from darkpy.memory.usage import of_process
from darkpy.report.memory_report import amount
from darkpy.tasks._memory_costs import TRUTHS, Size, training_costs

COPIES = 2  # of its weights that a convolution makes for itself: oneDNN orders them anew, once for each direction
_MALLOC = {  # every tensor gives its memory back to the system at once
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}


def measure_lines(blueprint: Blueprint, size: Size, *, tier: int, mini_batch: int) -> Iterator[str]:
    """Yield what a step took, beside what was predicted for a CPU.

    Raises:
        SetupError: If this system does not tell the memory of a process, the step does not fit into it, or it fails.
    """
    predicted = predicted_peak(blueprint, size, tier=tier, mini_batch=mini_batch)
    _check(predicted)
    base, peak = measure(blueprint, size, tier=tier, mini_batch=mini_batch)
    difference = (predicted + base) / peak - 1
    where = ", what is offloaded in a file" if tier in OFFLOADING else ""
    yield (
        f"Measured on the CPU in tier {tier}, mini-batch {mini_batch}{where}: a peak of {amount(peak)}, {amount(base)} "
        f"of it before the network was there."
    )
    yield f"Predicted: {amount(predicted + base)}, {100 * difference:+.1f} %."


def predicted_peak(blueprint: Blueprint, size: Size, *, tier: int, mini_batch: int) -> int:
    """Return the bytes that a step takes on a CPU beside what the process has before it."""
    costs = training_costs(blueprint, size, batch=mini_batch, tiers=(tier,), near=True)
    way = costs.tiers[0].ways[0]
    resting = costs.states.momentum if tier >= RESTING else 0
    chunk = CHUNK if tier in OFFLOADING else 0  # of the file, while it is copied
    return costs.states.total - resting + way.trace.peak(mini_batch, copies=COPIES) + chunk + LIBRARIES


def measure(blueprint: Blueprint, size: Size, *, tier: int, mini_batch: int) -> tuple[int, int]:
    """Return the bytes of a process before its network, and at the peak of a step.

    Raises:
        SetupError: If the step fails.
    """
    with TemporaryDirectory() as folder:
        words = (blueprint.path, size.width, size.height, mini_batch, tier, TRUTHS, Path(folder) / "offloaded")
        command = [sys.executable, "-m", "darkpy.tasks._memory_child", *map(str, words)]
        done = subprocess.run(
            command, env=os.environ | _MALLOC, capture_output=True, encoding="utf-8", errors="replace"
        )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise SetupError(f"-measure: the step failed: {why}. Raise subdivisions, or leave -measure out.")
    found = json.loads(done.stdout.splitlines()[-1])
    return int(found["base"]), int(found["peak"])


def _check(predicted: int) -> None:
    if of_process("VmHWM") is None:
        raise SetupError("-measure: this system does not tell the memory of a process. Leave -measure out.")
    room = min((limit.left for limit in limits()), default=predicted)
    if predicted > room:
        raise SetupError(
            f"-measure: a step needs {amount(predicted)}, but {amount(room)} are free. Raise subdivisions, or give "
            "-width and -height."
        )
