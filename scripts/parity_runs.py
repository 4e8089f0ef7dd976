"""Runs darkpy and the C darknet on one network, training or cfg: each function makes a row of parity.py's tables."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from parity_curves import curve_cfg
from parity_tables import (
    BoxDifference,
    Unreadable,
    box_difference,
    equal_rows,
    largest_difference,
    largest_ratio,
    read_boxes,
    read_losses,
    read_map,
    read_table,
)

ROOT = Path(__file__).resolve().parents[1]
AP_BOUND = 0.05  # percent, of a class
CONFIDENCE_BOUND = 1e-4
PIXEL_BOUND = 0.1
LOSS_BOUND = 1e-3  # relative, of an iteration
HEADER = 20  # bytes of a weights file before its values
NOT_COMPARED = "not compared"
T = TypeVar("T")


_NUDGE = 1e-6  # of each weight: about what the order of sums changes


@dataclass(slots=True)
class Bench:
    """The two programs, where they run, and which bounds were broken."""

    reference: Path
    folder: Path
    limit_s: float
    broken: list[str] = field(default_factory=list)

    def run(self, program: str, words: list[str], *, folder: Path | None = None, asked: str = "") -> tuple[str, str]:
        """Return what a program prints on its two streams.

        Raises:
            Unreadable: If it fails or takes too long.
        """
        command = [sys.executable, "-m", "darkpy"] if program == "darkpy" else [str(self.reference)]
        environment = {"OMP_WAIT_POLICY": "passive", **os.environ, "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(
                [*command, *words], cwd=folder or self.folder, env=environment, input=asked, capture_output=True,
                text=True, errors="replace", timeout=self.limit_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Unreadable(f"{program}: not done in {self.limit_s:g} s") from error
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise Unreadable(f"{program}: exit status {done.returncode}: {said[-1] if said else 'nothing said'}")
        return done.stdout, done.stderr

    def both(self, words: list[str], read: Callable[[str], T], *, stream: int = 0) -> tuple[T, T]:
        """Return what darkpy and the reference print, read."""
        ours, theirs = (read(self.run(program, words)[stream]) for program in ("darkpy", "reference"))
        return ours, theirs

    def check(self, what: str, value: float, bound: float) -> None:
        """Take note of a difference above its bound."""
        if not value <= bound:
            self.broken.append(f"{what}: {value:g} is above {bound:g}")


def attempt(make: Callable[[], str]) -> str:
    """Return what ``make`` returns, or why it could not: one failure does not stop the rest."""
    try:
        return make()
    except (Unreadable, OSError) as error:
        return f"{NOT_COMPARED}: {error}"


# --- networks with weights --------------------------------------------------------------------------------------------


def weights_pairs(models: Path) -> Iterator[tuple[Path, Path]]:
    """Yield every cfg below a folder with each of its weights files."""
    for cfg in sorted(models.rglob("*.cfg")):
        exact = cfg.with_suffix(".weights")
        for weights in [exact] if exact.exists() else sorted(cfg.parent.glob(f"{cfg.stem}-*.weights")):
            yield cfg, weights


def data_file(folder: Path, pictures: list[Path], classes: int) -> Path:
    """Write a .data file over copies of pictures whose class numbers are taken modulo ``classes``; return it."""
    place = folder / f"classes_{classes}"
    if not place.exists():
        place.mkdir()
        for picture in pictures:
            shutil.copyfile(picture, place / picture.name)
            lines = picture.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
            words = [line.split() for line in lines if line.strip()]
            text = "".join(f"{int(number) % classes} {' '.join(box)}\n" for number, *box in words)
            (place / picture.with_suffix(".txt").name).write_text(text, encoding="utf-8")
        (place / "names").write_text("".join(f"class{index}\n" for index in range(classes)), encoding="utf-8")
        (place / "list").write_text("".join(f"{place / picture.name}\n" for picture in pictures), encoding="utf-8")
        values = {"classes": classes, "names": place / "names", "backup": place}
        values |= {"train": place / "list", "valid": place / "list"}
        (place / "data").write_text("".join(f"{key} = {value}\n" for key, value in values.items()), encoding="utf-8")
    return place / "data"


def map_cells(bench: Bench, label: str, words: list[str]) -> str:
    """Return both mAPs and the largest difference of a class."""
    ours, theirs = bench.both(["detector", "map", *words], read_map)
    apart = largest_difference(ours.average_precisions, theirs.average_precisions)
    bench.check(f"{label}: average precision in percent", apart, AP_BOUND)
    return f"{theirs.mean} | {ours.mean} | {apart:.2f} % | {theirs.detections} / {ours.detections}"


def box_cells(bench: Bench, label: str, words: list[str], photographs: list[Path]) -> str:
    """Return how the boxes of both programs compare on the photographs."""
    from darkpy.data.image import load_image

    shapes = {str(path): load_image(str(path), channels=3).shape for path in photographs}
    sizes = {path: (shape[1], shape[0]) for path, shape in shapes.items()}
    found = {}
    for program in ("darkpy", "reference"):
        out = bench.folder / f"{program}.json"
        asked = "".join(f"{path}\n" for path in photographs)
        bench.run(program, ["detector", "test", *words, "-dont_show", "-out", str(out)], asked=asked)
        found[program] = read_boxes(out.read_text(encoding="utf-8"))
    apart: BoxDifference = box_difference(found["darkpy"], found["reference"], sizes)
    bench.check(f"{label}: boxes without a partner", apart.strangers, 0)
    bench.check(f"{label}: confidence", apart.confidence, CONFIDENCE_BOUND)
    bench.check(f"{label}: pixels", apart.pixels, PIXEL_BOUND)
    return f"{apart.theirs} / {apart.ours} | {apart.confidence:.6f} | {apart.pixels:.3f}"


def weights_cell(bench: Bench, label: str, cfg: Path, weights: Path) -> str:
    """Send a weights file through darkpy, and what comes out through the reference; return whether values stay."""
    from darkpy.network import Network, read_blueprint
    from darkpy.weights import load_weights, save_weights

    saved, back = bench.folder / "saved.weights", bench.folder / "back.weights"
    network = Network(read_blueprint(cfg))
    loaded = load_weights(network, weights, leftover_is_error=True)
    save_weights(network, saved, seen=loaded.seen)
    bench.run("reference", ["partial", str(cfg), str(saved), str(back), "100000"])
    values = [path.read_bytes()[start:] for path, start in ((saved, HEADER), (back, HEADER))]
    original = weights.read_bytes()[-len(values[0]) :]
    kept = [original == values[0], values[0] == values[1]]
    bench.check(f"{label}: weights files that lost values", kept.count(False), 0)
    return "/".join("equal" if same else "DIFFERENT" for same in kept)


def network_row(bench: Bench, cfg: Path, weights: Path, pictures: list[Path], photographs: list[Path]) -> list[str]:
    """Return a row of the first table."""
    from darkpy.errors import DarkpyError
    from darkpy.network import read_blueprint

    label = weights.stem
    try:
        blueprint = read_blueprint(cfg)
    except DarkpyError as error:
        return [label, "-", f"refused: {reason(error)}", *[""] * 7]
    if "activation=relu6" in cfg.read_text(encoding="utf-8", errors="replace").replace(" ", ""):
        return [
            label,
            str(len(blueprint.layers)),
            "the reference's CPU code has no relu6: its outputs are 0",
            *[""] * 7,
        ]
    classes = next(layer.spec.rules.classes for layer in blueprint.layers if layer.kind == "yolo")  # type: ignore[attr-defined]
    words = [str(data_file(bench.folder, pictures, classes)), str(cfg), str(weights)]
    cells = [
        (4, lambda: map_cells(bench, label, words)),
        (3, lambda: box_cells(bench, label, words, photographs)),
        (1, lambda: weights_cell(bench, label, cfg, weights)),
    ]
    row = [label, str(len(blueprint.layers))]
    for width, make in cells:
        found = attempt(make).split(" | ")
        if found[0].startswith(NOT_COMPARED):
            bench.broken.append(f"{label}: {found[0]}")
        row += [*found, *[""] * (width - len(found))]
    return row


# --- cfg files --------------------------------------------------------------------------------------------------------


def cfg_row(bench: Bench, cfg: Path, top: Path, data: Path) -> tuple[list[str] | None, str]:
    """Return a row of the third table, or None and what darkpy and the reference make of the cfg.

    Args:
        bench: The programs.
        cfg: The file.
        top: The folder from which the files that it names count.
        data: A .data file with more names than any network has classes.
    """
    import torch

    from darkpy.errors import DarkpyError
    from darkpy.network import Network, read_blueprint

    os.chdir(top)
    words = ["detector", "test", str(data), str(cfg)]
    theirs = attempt(lambda: "\n".join(read_table(bench.run("reference", words, folder=top)[1])))
    has_loaded = not theirs.startswith(NOT_COMPARED)
    try:
        blueprint = read_blueprint(cfg)
    except DarkpyError as error:
        return None, f"{reason(error)} (the reference {'loads it' if has_loaded else 'does not load it either'})"
    with torch.device("meta"):
        network = Network(blueprint)
    pairs = zip(blueprint.layers, network.layers, strict=True)
    parameters = sum(blob.numel() for plan, module in pairs for blob in plan.spec.blobs(module))
    row = [str(len(blueprint.layers)), f"{parameters:,}"]
    if not has_loaded:
        bench.broken.append(f"{cfg.name}: {theirs}")
        return [*row, f"- / {blueprint.bflops:.3f}", theirs], ""
    ours, rows_of_theirs = read_table("\n".join(blueprint.table())), theirs.splitlines()
    same, rows = equal_rows(ours, rows_of_theirs)
    totals = [lines[-1].split()[-1] for lines in (rows_of_theirs, ours)]
    bench.check(f"{cfg.name}: rows that differ", rows - same, 0)
    bench.check(f"{cfg.name}: difference of BFLOPS", abs(float(totals[0]) - float(totals[1])), 0)
    return [*row, " / ".join(totals), f"{same} of {rows}"], ""


def reason(error: Exception) -> str:
    """Return what a message says behind its place, its first sentence."""
    text = str(error).split(": ", 1)[-1]
    return text.split(". ")[0].rstrip(".").replace(" in this version of darkpy", "")


# --- curves -----------------------------------------------------------------------------------------------------------


def curve_row(bench: Bench, name: str, picture: Path) -> list[str]:
    """Train a small network in both programs from the same weights on one picture; return a row of the second table."""
    import torch

    from darkpy.network import Network, read_blueprint
    from darkpy.weights import save_weights

    folder = bench.folder / f"curve_{'_'.join(name.split())}".replace(",", "")  # darknet takes no blanks in paths
    folder.mkdir()
    cfg, weights = folder / "net.cfg", folder / "start.weights"
    cfg.write_text(curve_cfg(name), encoding="utf-8")
    torch.manual_seed(1)
    network = Network(read_blueprint(cfg))
    save_weights(network, weights, seen=0)
    data = data_file(folder, [picture], classes=3)
    words = ["detector", "train", str(data), str(cfg), str(weights), "-clear", "-dont_show"]
    ours, theirs = bench.both(words, read_losses)
    apart = largest_ratio(ours, theirs)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1 + _NUDGE * torch.empty_like(parameter).uniform_(-1, 1))
    save_weights(network, weights, seen=0)
    nudged = read_losses(bench.run("darkpy", words)[0])
    spread = largest_ratio(nudged, ours)
    if spread <= LOSS_BOUND:  # else the curve parts from itself, and the comparison tells nothing
        bench.check(f"curve {name}: loss", apart, LOSS_BOUND)
    return [
        name,
        str(len(theirs)),
        f"{theirs[0]:.6f} / {ours[0]:.6f}",
        f"{theirs[-1]:.6f} / {ours[-1]:.6f}",
        f"{apart:.1e}",
        f"{spread:.1e}",
    ]
