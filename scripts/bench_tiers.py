"""What does a memory tier cost in time, beside tier 0?

One thread; processor time of forward and backward of one mini-batch, so that other work on the machine counts little;
the tiers take turns, and each ratio is of the same round. On a CPU the host memory of tiers 2 and 3 is plain RAM: that
frees nothing, but makes the same copies. Bounds, of yolov3-spp at 416: 1.12 in tier 1, 1.17 in tier 2.

    python scripts/bench_tiers.py [cfg/yolov3-spp.cfg]
"""

import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "4000000000")  # memory is kept, as training does on a CPU
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "4000000000")
if os.environ.get("DARKPY_BENCH") != "1" and sys.platform == "linux":  # glibc reads them when a process begins
    os.environ["DARKPY_BENCH"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.argv])

import click
import torch

from darkpy.blueprint import read_blueprint
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.memory.blocks import PlainBlocks
from darkpy.memory.tiers import TIERS, TieredMemory
from darkpy.network import Network

ROOT = Path(__file__).resolve().parents[1]
BOUNDS = {1: 1.12, 2: 1.17}
TRUTHS = 32


@click.command()
@click.argument("cfg", type=click.Path(path_type=Path), default=ROOT / "cfg" / "yolov3-spp.cfg")
@click.option("--size", default=416, help="Width and height in pixels.")
@click.option("--mini-batch", default=2, help="Images of a step.")
@click.option("--rounds", default=7, help="Of all tiers in turn; one more goes before and does not count.")
def main(cfg: Path, size: int, mini_batch: int, rounds: int) -> None:
    """Print the time of each tier, and its ratio to tier 0; exit 1 if a bound is broken."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = Network(read_blueprint(cfg)).to(memory_format=torch.channels_last)
    update = DarknetUpdate(network)  # takes the gradients as soon as they are there
    images = torch.rand(mini_batch, 3, size, size).to(memory_format=torch.channels_last)
    truths = torch.rand(mini_batch, TRUTHS, 5)
    truths[..., 4] = 0
    device = torch.device("cpu")
    memories = {tier: TieredMemory(tier, device, blocks=PlainBlocks() if tier >= 2 else None) for tier in TIERS}
    seconds: dict[int, list[float]] = {tier: [] for tier in TIERS}
    for turn in range(rounds + 1):
        for tier, memory in memories.items():
            begun = time.process_time()
            with memory.step():
                network.losses(images, truths)
            if turn:
                seconds[tier].append(time.process_time() - begun)
    broken = False
    for tier in TIERS:
        ratio = statistics.median(mine / plain for mine, plain in zip(seconds[tier], seconds[0], strict=True))
        bound = BOUNDS.get(tier)
        click.echo(
            f"tier {tier}: {statistics.median(seconds[tier]):.2f} s of processor time, {ratio:.3f} of tier 0"
            + (f" (bound {bound})" if bound else "")
        )
        broken |= bound is not None and ratio > bound
    for memory in memories.values():
        memory.close()
    update.close()
    sys.exit(broken)


if __name__ == "__main__":
    main()
