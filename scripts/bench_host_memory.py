"""What does a training step on a CPU take in tier 3 with offload_file, beside tier 0?

Two questions, of yolov3-tiny at 416 unless told otherwise; each answer comes from a fresh process with one thread whose
malloc gives large blocks back at once, so that what the system counts is what is in use.

1. Peak of resident memory beside the process's constant, and processor time (user and system, of all threads) of the
   steps, at one mini-batch: medians of interleaved rounds, and of the rounds' ratios. Goals: 0.56 of tier 0's memory,
   1.35 of its time. The constant is what the process has before the network is built: Python, PyTorch, OpenCV, darkpy,
   and what one step of a network of one convolution and one head, in the same tier, leaves behind.
2. The largest mini-batch that runs where the process may have 4 GiB of data (RLIMIT_DATA: what is mapped from a file
   does not count). Goal: twice that of tier 0.

    python scripts/bench_host_memory.py [cfg/yolov3-tiny.cfg]
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
TIERS = (0, 3)
MEMORY_GOAL, TIME_GOAL, LARGEST_GOAL = 0.56, 1.35, 2
TRUTHS = 32
STEPS = 2  # from the second on, a tier knows what a step keeps
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
SHORT = re.compile(r"can't allocate memory|not enough memory|bad_alloc|could not create|MemoryError|MemoryPlanError")
ONE_LAYER = """
[net]
width=32
height=32
channels=3
[convolutional]
filters=18
size=1
activation=linear
[yolo]
mask=0,1,2
anchors=10,10, 20,20, 30,30
classes=1
num=3
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One process."""

    tier: int
    mini_batch: int
    size: int
    cfg: str
    limit: int = 0  # bytes of RLIMIT_DATA; 0: none


def child(step: Step, folder: Path) -> None:
    """Run the steps, and print the bytes of the constant and above it at the peak, and the seconds."""
    if step.limit:
        resource.setrlimit(resource.RLIMIT_DATA, (step.limit, step.limit))
    import torch

    torch.set_num_threads(1)
    (folder / "one.cfg").write_text(ONE_LAYER)
    train(folder / "one.cfg", tier=step.tier, mini_batch=1, size=32, file=folder / "warm.bin", steps=1)
    constant = status("VmRSS")
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    seconds = train(
        Path(step.cfg),
        tier=step.tier,
        mini_batch=step.mini_batch,
        size=step.size,
        file=folder / "offload.bin",
        steps=STEPS,
    )
    print(json.dumps({"constant": constant, "above": status("VmHWM") - constant, **seconds}))


def train(cfg: Path, *, tier: int, mini_batch: int, size: int, file: Path, steps: int) -> dict[str, float]:
    """Run steps with their weight updates, and return their seconds of processor time."""
    import torch

    from darkpy.blueprint import read_blueprint
    from darkpy.engine.optimizer import DarknetUpdate
    from darkpy.layers._base import StepKey
    from darkpy.memory.blocks import blocks_for
    from darkpy.memory.tiers import OFFLOADING, TieredMemory
    from darkpy.tasks._network import build_network

    device = torch.device("cpu")
    network = build_network(read_blueprint(cfg), device)
    memory = TieredMemory(tier, device, blocks=blocks_for(device, file) if tier in OFFLOADING else None)
    network.parking = memory.parking
    update = DarknetUpdate(network, rest=memory.rest)
    generator = torch.Generator().manual_seed(1)
    begun = resource.getrusage(resource.RUSAGE_SELF)
    for number in range(steps):
        images = torch.rand(mini_batch, 3, size, size, generator=generator).to(memory_format=torch.channels_last)
        truths = torch.rand(mini_batch, TRUTHS, 5, generator=generator) * torch.tensor([1, 1, 0.4, 0.4, 0])
        network.begin(StepKey(0, number, 0))
        with memory.step():
            network.losses(images, truths)
        update.step(rate=1e-4, images=mini_batch, iteration=number + 1)
    ended = resource.getrusage(resource.RUSAGE_SELF)
    update.close()
    memory.close()
    user, system = ended.ru_utime - begun.ru_utime, ended.ru_stime - begun.ru_stime
    return {"user": user, "system": system, "seconds": user + system}


def status(key: str) -> int:
    """Return a figure of this process in bytes."""
    found = re.search(rf"^{key}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def run(step: Step) -> dict[str, float] | None:
    """Return what a fresh process prints; None if memory was short."""
    with tempfile.TemporaryDirectory() as folder:
        words = [step.tier, step.mini_batch, step.size, step.cfg, step.limit, folder]
        done = subprocess.run(
            [sys.executable, __file__, "--child", *map(str, words)],
            env=os.environ | MALLOC | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    if step.limit and SHORT.search(done.stderr):
        return None
    raise click.ClickException(f"{step} failed: {done.stderr}")


def largest(fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits; if one does, all below do."""
    low, high = 0, 16
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def compare(cfg: Path, size: int, mini_batch: int, rounds: int) -> bool:
    """Print peaks and times, and return whether the goals are reached."""
    found: dict[int, list[dict[str, float]]] = {tier: [] for tier in TIERS}
    for _ in range(rounds):
        for tier in TIERS:
            figures = run(Step(tier, mini_batch, size, str(cfg)))
            assert figures is not None
            found[tier].append(figures)
    print(f"{cfg.name} at {size}, mini-batch {mini_batch}, {STEPS} steps, medians of {rounds}:")
    for tier, figures in found.items():
        one = {key: statistics.median(each[key] for each in figures) for key in figures[0]}
        print(
            f"  tier {tier}: {one['above'] / 1e6:.1f} MB above a constant of {one['constant'] / 1e6:.1f} MB, "
            f"{one['seconds']:.2f} s of processor time ({one['system']:.2f} of them the system's)"
        )
    print("  (constant: resident after imports and one step of a network of one convolution and a head, in that tier)")
    memory, seconds = (
        statistics.median(ours[key] / plain[key] for ours, plain in zip(found[3], found[0], strict=True))
        for key in ("above", "seconds")
    )
    print(f"  memory: {memory:.3f} of tier 0 (goal {MEMORY_GOAL}), time: {seconds:.3f} (goal {TIME_GOAL})")
    return memory <= MEMORY_GOAL and seconds <= TIME_GOAL


def search(cfg: Path, size: int, gib: float) -> bool:
    """Print the largest mini-batches, and return whether the goal is reached."""
    limit = int(gib * 2**30)
    found = {
        tier: largest(lambda n, tier=tier: run(Step(tier, n, size, str(cfg), limit)) is not None) for tier in TIERS
    }
    ratio = found[3] / found[0] if found[0] else float("inf")
    print(f"{cfg.name} at {size}: the largest mini-batch within RLIMIT_DATA = {gib:g} GiB:")
    print(f"  tier 0: {found[0]}, tier 3 with offload_file: {found[3]}: {ratio:.2f} times (goal {LARGEST_GOAL})")
    return ratio >= LARGEST_GOAL


@click.command()
@click.argument("cfg", type=click.Path(path_type=Path), default=ROOT / "cfg" / "yolov3-tiny.cfg")
@click.option("--size", default=416, show_default=True, help="Width and height in pixels.")
@click.option("--mini-batch", default=16, show_default=True, help="Images of a step, for the first question.")
@click.option("--rounds", default=5, show_default=True, help="Of both tiers in turn; 0 leaves the first question out.")
@click.option("--gib", default=4.0, show_default=True, help="The limit; 0 leaves the second question out.")
def main(cfg: Path, size: int, mini_batch: int, rounds: int, gib: float) -> None:
    """Print both answers; exit 1 if a goal is missed."""
    reached = [compare(cfg, size, mini_batch, rounds)] if rounds else []
    if gib:
        reached.append(search(cfg, size, gib))
    sys.exit(int(not all(reached)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        tier, mini_batch, size, cfg, limit, folder = sys.argv[2:]
        child(Step(int(tier), int(mini_batch), int(size), cfg, int(limit)), Path(folder))
    else:
        main()
