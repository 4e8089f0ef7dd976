"""Does darkpy do what the C darknet does?  Runs both on every network at hand and writes a table.

    python scripts/parity.py ~/darknet/darknet --out parity.md
    python scripts/parity.py ~/darknet/darknet --write-readme README.md

It looks for networks, pictures and cfg files where the reference tests look: in the folder that $DARKPY_SHARED names,
else in `shared` beside the project. Each .cfg below --models with a .weights file of its name (or NAME-*.weights) is
measured (`detector map` on the pictures of --data), run on the photographs of --images (`detector test`), and its
weights go through both programs. Each .cfg below --cfgs is loaded by both. The training curves need no file but one
picture of --data. The exit status is 1 if a difference is larger than a bound that the table states.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import click
from parity_curves import CASES
from parity_runs import (
    AP_BOUND,
    CONFIDENCE_BOUND,
    LOSS_BOUND,
    PIXEL_BOUND,
    ROOT,
    Bench,
    cfg_row,
    curve_row,
    data_file,
    network_row,
    weights_pairs,
)
from parity_tables import Unreadable, markdown, replaced

SHARED = Path(os.environ.get("DARKPY_SHARED", ROOT.parent / "shared"))
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path, resolve_path=True)
FILE = click.Path(dir_okay=False, path_type=Path, resolve_path=True)


def commit(folder: Path) -> str:
    """Return the commit that a folder is at, marked if files differ from it; "unknown" outside of git."""
    words = ["git", "-C", str(folder), "describe", "--always", "--dirty=+changes", "--abbrev=10", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def reference_build(bench: Bench) -> str:
    """Return what the reference says of itself at its start, such as the GPU and OpenCV."""
    done = subprocess.run([str(bench.reference), "detector"], capture_output=True, text=True, errors="replace")
    told = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines()]
    lines = [line for line in told if re.match(r"GPU|Used|OpenCV|CUDA", line)]
    return ", ".join(dict.fromkeys(lines)) or "says nothing of its build"


def told(label: str) -> None:
    """Say on stderr what is done now."""
    click.echo(f"{time.strftime('%H:%M:%S')} {label}", err=True)


def networks(bench: Bench, models: Path, data: Path, photographs: list[Path]) -> Iterator[str]:
    """Yield the part on networks with weights."""
    pictures = sorted(path for path in data.rglob("*.jpg") if path.with_suffix(".txt").exists())
    rows = []
    for cfg, weights in weights_pairs(models):
        told(f"network {weights.stem}")
        rows.append(network_row(bench, cfg, weights, pictures, photographs))
    yield (
        f"**Networks with weights.** mAP@0.50 on {len(pictures)} labelled pictures (class numbers modulo the network's "
        f"classes), boxes above 0.25 in {len(photographs)} photographs; reference / darkpy. Weights: darkpy's copy of "
        "the file / the reference's copy of that copy (`partial`). Bounds: "
        f"{AP_BOUND} % of a class's AP, {CONFIDENCE_BOUND:g} of confidence, {PIXEL_BOUND} pixels, "
        "no box more or less.\n\n"
    )
    head = "network,layers,mAP reference,mAP darkpy,AP apart,detections,boxes,confidence apart,pixels apart,weights"
    yield markdown(head.split(","), rows) + "\n\n"


def curves(bench: Bench, data: Path) -> Iterator[str]:
    """Yield the part on training curves."""
    picture = min(path for path in data.rglob("*.jpg") if path.with_suffix(".txt").exists())
    rows = []
    for name in CASES:
        told(f"curve {name}")
        try:
            rows.append(curve_row(bench, name, picture))
        except Unreadable as error:
            bench.broken.append(f"curve {name}: {error}")
            rows.append([name, f"not compared: {error}", "", "", "", ""])
    yield (
        "**Training.** The loss of each iteration from the same weights on one picture, augmentation off; reference / "
        f"darkpy, and the largest relative difference (bound: {LOSS_BOUND:g}). The last column is how far darkpy's own "
        "curve moves when each weight at the start changes by up to a millionth: a unit that lies so near the kink of "
        "relu or leaky takes the other slope, and the curve parts from itself; where that exceeds the bound, the two "
        "programs are shown and not judged. Only plain chains without batch norm: a CPU build of the reference "
        "normalises by another variance, never trains the shift of batch norm and overwrites gradients where a layer "
        "has two readers, so networks with `batch_normalize`, `[route]` or `[shortcut]` cannot be compared with it in "
        "training. Their first iterations are compared with figures of a corrected build in "
        "`tests/engine/test_golden_train.py`.\n\n"
    )
    heads = ["loss and layers", "iterations", "first", "last", "largest difference", "of itself, nudged"]
    yield markdown(heads, rows) + "\n\n"


def cfg_files(bench: Bench, cfgs: Path, data: Path) -> Iterator[str]:
    """Yield the part on cfg files without weights."""
    rows, refused = [], defaultdict(list)
    for cfg in sorted(cfgs.rglob("*.cfg")):
        name = str(cfg.relative_to(cfgs))
        told(f"cfg {name}")
        row, why = cfg_row(bench, cfg, cfgs, data)
        if row is None:
            refused[why].append(name)
        else:
            rows.append([name, *row])
    yield "**Cfg files.** Rows of the table printed at load that are equal in both programs, letter for letter.\n\n"
    yield markdown(["cfg", "layers", "parameters", "BFLOPS reference / darkpy", "equal rows"], rows) + "\n\n"
    if refused:
        yield "Refused by darkpy, each with its line:\n\n"
        yield "".join(f"- {why}: {', '.join(names)}\n" for why, names in sorted(refused.items()))


@click.command(context_settings={"show_default": True})
@click.argument("reference", type=click.Path(exists=True, dir_okay=False, path_type=Path, resolve_path=True))
@click.option("--models", type=FOLDER, default=SHARED / "models", help="Folders of cfg and weights files.")
@click.option(
    "--data", type=FOLDER, default=SHARED / "data" / "coco-ccby", help="Pictures with label files beside them."
)
@click.option("--images", type=FOLDER, default=SHARED / "images", help="Photographs.")
@click.option("--cfgs", type=FOLDER, default=SHARED / "cfg-reference", help="Cfg files without weights.")
@click.option("--only", multiple=True, type=click.Choice(["networks", "curves", "cfgs"]), help="Just this part.")
@click.option("--limit", default=300.0, help="Seconds that a run may take.")
@click.option("--out", type=FILE, help="File to write to, in place of standard output.")
@click.option("--write-readme", type=FILE, help="File in which the table between the markers is replaced.")
def main(
    reference: Path,
    models: Path,
    data: Path,
    images: Path,
    cfgs: Path,
    only: tuple[str, ...],
    limit: float,
    out: Path | None,
    write_readme: Path | None,
) -> None:
    """Compare darkpy with the compiled C darknet REFERENCE."""
    sys.path.insert(0, str(ROOT))  # this checkout's darkpy, whatever is installed
    readme = write_readme.read_text(encoding="utf-8") if write_readme else ""
    if write_readme:
        _replaced(readme, "", write_readme)  # before half an hour of work
    with tempfile.TemporaryDirectory(prefix="parity_") as name:
        bench = Bench(reference, Path(name).resolve(), limit)
        (bench.folder / "results").mkdir()
        build = f"{commit(reference.parent)} ({reference_build(bench)})"
        parts = [f"darkpy {commit(ROOT)}, {date.today()}, against AlexeyAB/darknet {build}; `scripts/parity.py`.\n\n"]
        if not only or "networks" in only:
            parts += networks(bench, models, data, sorted(images.glob("*.jpg")))
        if not only or "curves" in only:
            parts += curves(bench, data)
        if not only or "cfgs" in only:
            parts += cfg_files(bench, cfgs, data_file(bench.folder, [], classes=10_000))
        os.chdir(ROOT)
    block = "".join(parts)
    if write_readme:
        readme = write_readme.read_text(encoding="utf-8")  # again: somebody may have written meanwhile
        write_readme.write_text(_replaced(readme, block, write_readme), encoding="utf-8")
    if out:
        out.write_text(block, encoding="utf-8")
    if not out and not write_readme:
        click.echo(block)
    for line in bench.broken:
        click.echo(f"broken: {line}", err=True)
    sys.exit(1 if bench.broken else 0)


def _replaced(text: str, block: str, path: Path) -> str:
    try:
        return replaced(text, block)
    except Unreadable as error:
        raise click.ClickException(f"{path}: {error}") from error


if __name__ == "__main__":
    main()
