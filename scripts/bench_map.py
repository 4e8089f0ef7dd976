"""How long does `detector map` take for one picture, beside the C darknet?

The valid pictures of a .data file are repeated to a short and a long list. Both programs measure both lists, one after
the other in interleaved rounds, and a round's figure is the difference: start-up is not in it. The baseline is 5000
entries of BCCD's 72 valid pictures (640x480) with a network of 192 x 192, where darkpy should take at most 0.4 of the
reference's time on the same cores. Only the ratios mean something.

    python scripts/bench_map.py ~/darknet/darknet bccd.data demo.cfg demo.weights
"""

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import click
from bench_train import pictures

from darkpy.cfg.datafile import read_datafile, read_names

ROOT = Path(__file__).resolve().parents[1]
BOUND = 0.4  # of the reference's wall time
SAME_SCORE = 2e-6  # two detections that differ by rounding rank in either order, as often as the list repeats them
SCORE = re.compile(r"mean average precision \(mAP@[\d.]+\) = ([\d.]+)")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one process: on the clock, and of all its threads and children on the processor."""

    wall: float
    cpu: float

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.wall - other.wall, self.cpu - other.cpu)


def lay_out(folder: Path, data: Path, lengths: tuple[int, int]) -> list[Path]:
    """Write a .data file and a list of each length into ``folder``; return the .data files."""
    datafile = read_datafile(data)
    names = read_names(datafile.required("names", purpose="the benchmark"))
    (folder / "net.names").write_text("\n".join(names) + "\n", encoding="utf-8")
    (folder / "results").mkdir()
    paths = [str(picture.resolve()) for picture in pictures(datafile, "valid")]
    written = []
    for length in lengths:
        listed = folder / f"valid_{length}.txt"
        listed.write_text("\n".join(islice(cycle(paths), length)) + "\n", encoding="utf-8")
        written.append(folder / f"net_{length}.data")
        text = f"classes = {len(names)}\nvalid = {listed}\nnames = {folder / 'net.names'}\nbackup = {folder}\n"
        written[-1].write_text(text, encoding="utf-8")
    return written


def measured(command: list[str], folder: Path) -> tuple[Cost, str]:
    """Run a command in ``folder`` and return what it costs and the mAP that it prints.

    Raises:
        click.ClickException: If the command fails, or prints no mAP.
    """
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    before, started = _children_cpu(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    cost = Cost(time.perf_counter() - started, _children_cpu() - before)
    score = SCORE.search(done.stdout)
    if done.returncode or score is None:
        raise click.ClickException(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return cost, score[1]


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(rounds: dict[str, list[Cost]], entries: int) -> bool:
    """Print milliseconds for each entry and the ratios to the reference; return whether the bound holds."""
    click.echo(f"\n{'':10s} wall ms    cpu ms   of one entry; wall of each round")
    for name, costs in rounds.items():
        wall, cpu = (statistics.median(getattr(cost, kind) for cost in costs) for kind in ("wall", "cpu"))
        each = "  ".join(f"{cost.wall / entries * 1e3:.2f}" for cost in costs)
        click.echo(f"{name:10s} {wall / entries * 1e3:7.2f}  {cpu / entries * 1e3:8.2f}   {each}")
    ratios = {
        kind: [getattr(ours, kind) / getattr(theirs, kind) for ours, theirs in zip(*rounds.values(), strict=True)]
        for kind in ("wall", "cpu")
    }
    for kind, values in ratios.items():
        each = "  ".join(f"{value:.2f}" for value in values)
        click.echo(f"darkpy / reference, {kind}: {statistics.median(values):.2f}   of each round: {each}")
    holds = statistics.median(ratios["wall"]) <= BOUND
    click.echo(f"The bound of {BOUND} on wall time {'holds' if holds else 'is broken'}.")
    return holds


@click.command(context_settings={"show_default": True})
@click.argument("reference", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("cfg", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("weights", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--entries", default=5000, help="Of the long list.")
@click.option("--start-up", default=200, help="Entries of the short list, which is taken off.")
@click.option("--rounds", default=3, help="Of both programs, in turn.")
@click.option("--darkpy", "options", default="", help="Options for darkpy, such as '-threads 1 -workers 2'.")
def main(
    reference: Path, data: Path, cfg: Path, weights: Path, entries: int, start_up: int, rounds: int, options: str
) -> None:
    """Compare `detector map` of REFERENCE and darkpy on the valid pictures of DATA; exit 1 if the bound is broken."""
    with tempfile.TemporaryDirectory(prefix="bench_map_") as name:
        folder = Path(name).resolve()
        files = lay_out(folder, data, (start_up, entries))
        programs = {
            "darkpy": ([sys.executable, "-m", "darkpy"], options.split()),
            "reference": ([str(reference.resolve())], []),
        }
        results: dict[str, list[Cost]] = {name: [] for name in programs}
        for number in range(rounds):
            scores = {}
            for program, (command, extra) in programs.items():
                words = [*command, "detector", "map"]
                short, long = (
                    measured([*words, str(file), str(cfg.resolve()), str(weights.resolve()), *extra], folder)
                    for file in files
                )
                results[program].append(long[0] - short[0])
                scores[program] = float(long[1])
                click.echo(f"round {number + 1}: {program}: {results[program][-1].wall:.2f} s, mAP {long[1]}")
            if max(scores.values()) - min(scores.values()) > SAME_SCORE:
                raise click.ClickException(f"the programs do not measure the same mAP: {scores}")
        sys.exit(0 if report(results, entries - start_up) else 1)


if __name__ == "__main__":
    main()
