"""How far is the predicted peak of a step on the CPU from the measured one?

Five networks, two mini-batches each, in every tier; a step runs in a process of its own, and what the process has
before the network is there is left out on both sides of the first two columns. One number is fitted: on yolov3-tiny at
416 with a mini-batch of 2, tier 0. The baseline is the measured peak: 2 % of it at most, counted with what the process
has before.

    python scripts/bench_prediction.py [--tier 0]
"""

import sys
from pathlib import Path

import click

from darkpy.blueprint import read_blueprint
from darkpy.tasks._memory_costs import Size
from darkpy.tasks._memory_measure import measure, predicted_peak

ROOT = Path(__file__).resolve().parents[1]
BOUND = 0.02
NETWORKS = (
    ("yolov3-tiny", 416, (2, 8)),
    ("yolov4-tiny", 416, (2, 8)),
    ("yolov3-spp", 416, (1, 2)),
    ("yolov3", 320, (2, 4)),
    ("yolov4", 256, (2, 4)),
)


@click.command()
@click.option("--tier", type=click.IntRange(0, 3), multiple=True, default=(0, 1, 2, 3), show_default=True)
def main(tier: tuple[int, ...]) -> None:
    """Print a row for each step; exit with 1 if one is farther off than the bound."""
    worst = 0.0
    print("network          mini-batch  tier   measured  predicted   of the peak   without the process's own")
    for name, side, mini_batches in NETWORKS:
        blueprint = read_blueprint(ROOT / f"cfg/{name}.cfg")
        for mini_batch in mini_batches:
            for number in tier:
                predicted = predicted_peak(blueprint, Size(side, side), tier=number, mini_batch=mini_batch)
                base, peak = measure(blueprint, Size(side, side), tier=number, mini_batch=mini_batch)
                off, alone = (predicted + base) / peak - 1, predicted / (peak - base) - 1
                worst = max(worst, abs(off))
                print(
                    f"{name:<16} {mini_batch:>10} {number:>5} "
                    f"{(peak - base) / 1e6:>7.1f} MB {predicted / 1e6:>7.1f} MB {off:>12.1%} {alone:>12.1%}",
                    flush=True,
                )
    print(f"at most {worst:.1%} of the peak; the bound is {BOUND:.0%}")
    sys.exit(int(worst > BOUND))


if __name__ == "__main__":
    main()
