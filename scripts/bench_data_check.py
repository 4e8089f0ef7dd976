"""How long does `data check` take for one picture, beside a bare loop of cv2.imread in as many threads?

Pictures (640x480 JPEG, grainy as a camera's) with labels are made in a temporary folder. Both read all of them, one
after the other in interleaved rounds, each in a process of its own; the check's time is that of the whole command,
start-up included. It should take at most 1.25 of the loop's time for 10,000 pictures. Only the ratio means something.

    python scripts/bench_data_check.py --pictures 10000
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BOUND = 1.25
SIZE = (640, 480)
BOXES = 6  # of a picture
NOISES = 32  # different noises; each picture has one of them, moved
LOOP = """
import sys
from concurrent.futures import ThreadPoolExecutor
import cv2
paths = open(sys.argv[1], encoding="utf-8").read().split("\\n")[:-1]
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    assert sum(pool.map(lambda path: cv2.imread(path) is not None, paths)) == len(paths)
"""


def lay_out(folder: Path, pictures: int) -> None:
    """Write pictures, labels, a train list of nine tenths of them, a valid list of the rest, and obj.data."""
    rng = np.random.default_rng(0)
    noises = rng.integers(-14, 15, (NOISES, SIZE[1], SIZE[0], 3), dtype=np.int16)
    paths = []
    for number in range(pictures):
        coarse = rng.integers(0, 256, (15, 20, 3), dtype=np.uint8)
        smooth = cv2.resize(coarse, SIZE, interpolation=cv2.INTER_CUBIC).astype(np.int16)
        noise = np.roll(noises[number % NOISES], number, axis=(0, 1))
        path = folder / f"{number:06d}.jpg"
        cv2.imwrite(str(path), (smooth + noise).clip(0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 90])
        centres, sides = rng.uniform(0.2, 0.8, (BOXES, 2)), rng.uniform(0.05, 0.35, (BOXES, 2))
        rows = zip(rng.integers(0, 3, BOXES), np.concatenate([centres, sides], axis=1), strict=True)
        text = "".join(f"{class_id} {' '.join(f'{value:.6f}' for value in box)}\n" for class_id, box in rows)
        path.with_suffix(".txt").write_text(text, encoding="utf-8")
        paths.append(str(path))
    few = max(pictures // 10, 1)
    for name, part in (("train", paths[few:]), ("valid", paths[:few]), ("all", paths)):
        (folder / f"{name}.txt").write_text("\n".join(part) + "\n", encoding="utf-8")
    (folder / "obj.names").write_text("a\nb\nc\n", encoding="utf-8")
    (folder / "backup").mkdir()
    lines = ["classes = 3", *(f"{key} = {folder / key}.txt" for key in ("train", "valid"))]
    lines += [f"names = {folder / 'obj.names'}", f"backup = {folder / 'backup'}"]
    (folder / "obj.data").write_text("\n".join(lines) + "\n", encoding="utf-8")


def seconds(command: list[str]) -> tuple[float, float]:
    """Return how long a command takes: on the clock, and of all its threads on the processor.

    Raises:
        click.ClickException: If it fails.
    """
    environment = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    before, started = _children_cpu(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise click.ClickException(f"{' '.join(command)}: exit status {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started, _children_cpu() - before


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@click.command(context_settings={"show_default": True})
@click.option("--pictures", default=2000, help="Number of pictures.")
@click.option("--threads", default=os.cpu_count() or 1, help="Of both.")
@click.option("--rounds", default=5, help="Of both, in turn.")
def main(pictures: int, threads: int, rounds: int) -> None:
    """Compare `data check` with a loop of cv2.imread; exit 1 if the bound is broken."""
    with tempfile.TemporaryDirectory(prefix="bench_data_check_") as name:
        folder = Path(name).resolve()
        lay_out(folder, pictures)
        check = [sys.executable, "-m", "darkpy", "data", "check", str(folder / "obj.data"), "-workers", str(threads)]
        loop = [sys.executable, "-c", LOOP, str(folder / "all.txt"), str(threads)]
        ratios = []
        for number in range(rounds):
            ours, bare = seconds(check), seconds(loop)
            ratios.append([mine / theirs for mine, theirs in zip(ours, bare, strict=True)])
            each = ", ".join(
                f"{kind} {mine / pictures * 1e3:.2f} and {theirs / pictures * 1e3:.2f} ms ({mine / theirs:.2f})"
                for kind, mine, theirs in zip(("wall", "cpu"), ours, bare, strict=True)
            )
            click.echo(f"round {number + 1}: a picture by data check and by the bare loop: {each}")
    ratio, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    click.echo(
        f"median ratio {ratio:.2f} (processor time {cpu:.2f}): "
        f"the bound of {BOUND} {'holds' if ratio <= BOUND else 'is broken'}."
    )
    sys.exit(0 if ratio <= BOUND else 1)


if __name__ == "__main__":
    main()
