"""How long does one training iteration take, beside the C darknet, pytorchyolo and a network without loss or data?

Everything runs in one call, in interleaved rounds, with the same pictures, cfg, threads and float32: only the ratios
mean something. The baseline is yolov4-tiny.cfg at 416 x 416, batch=8 subdivisions=1, on 2 threads.

    python scripts/bench_train.py bccd.data --reference ~/darknet/darknet --pytorchyolo ~/pyolo

pytorchyolo (GPL-3, wants an old numpy) is best put into a folder of its own, over the same torch:
    pip install --target ~/pyolo --no-deps pytorchyolo imgaug "numpy<2" scipy scikit-image lazy_loader imageio \
        tifffile networkx matplotlib contourpy cycler kiwisolver pyparsing python-dateutil packaging six shapely \
        terminaltables torchsummary tensorboard protobuf grpcio absl-py werkzeug markdown markupsafe pillow
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from darkpy.cfg.datafile import DataFile, read_datafile, read_names
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import Entry, Section, format_sections, read_sections
from darkpy.data.index import label_path, read_image_list

WARM_UP = 2  # iterations of each process that do not count
LOOPS = Path(__file__).with_name("bench_loops.py")
LOADED = re.compile(r"Loaded: ([\d.]+) seconds")
TRAINED = re.compile(r"^ *\d+: .* rate, ([\d.]+) seconds,", re.MULTILINE)
ITERATION = re.compile(r"^iteration ([\d.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Round:
    """Medians of one process: seconds of an iteration, and the part of them spent waiting for data."""

    seconds: float
    waited: float


@dataclass(frozen=True, slots=True)
class Setting:
    """What all contenders share."""

    folder: Path  # holds net.cfg, net.data and links to the pictures
    threads: int
    workers: int
    iterations: int  # of each process, warm-up included


def lay_out(folder: Path, datafile: DataFile, cfg: Path, *, batch: int, iterations: int) -> None:
    """Fill ``folder`` with images/, labels/, lists, net.names, net.data and net.cfg for the classes of the .data file.

    pytorchyolo insists on a folder called ``images``; darknet and darkpy find labels there as well.
    """
    for name in ("images", "labels", "backup"):
        (folder / name).mkdir()
    for key in ("train", "valid"):
        listed = pictures(datafile, key)
        for picture in listed:
            link = folder / "images" / picture.name
            if not link.exists():
                link.symlink_to(picture)
                (folder / "labels" / f"{picture.stem}.txt").symlink_to(label_path(picture.as_posix()))
        lines = [str(folder / "images" / picture.name) for picture in listed]
        (folder / f"{key}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = read_names(datafile.required("names", purpose="the benchmark"))
    (folder / "net.names").write_text("\n".join(names) + "\n", encoding="utf-8")
    values = {"classes": len(names), "names": folder / "net.names", "backup": folder / "backup"}
    values |= {key: folder / f"{key}.txt" for key in ("train", "valid")}
    text = "".join(f"{key} = {value}\n" for key, value in values.items())
    (folder / "net.data").write_text(text, encoding="utf-8")
    sections = adapt(read_sections(cfg), classes=len(names), batch=batch, iterations=iterations)
    (folder / "net.cfg").write_text(format_sections(sections), encoding="utf-8")


def pictures(datafile: DataFile, key: str) -> list[Path]:
    """Return the pictures of a list; relative paths count from the current folder or from the .data file's."""
    lines = read_image_list(datafile.required(key, purpose="the benchmark"), asked_by=datafile.asked_by(key))
    folders = (Path.cwd(), datafile.path.parent.resolve())
    return [next((folder / line for folder in folders if (folder / line).exists()), Path(line)) for line in lines]


def adapt(sections: list[Section], *, classes: int, batch: int, iterations: int) -> list[Section]:
    """Return the sections for another number of classes, batch and max_batches, subdivisions=1."""
    changed = [_with(sections[0], batch=batch, subdivisions=1, max_batches=iterations)]
    for section, following in zip(sections[1:], [*sections[2:], None], strict=True):
        if section.kind == "yolo":
            section = _with(section, classes=classes)
        elif following is not None and following.kind == "yolo":
            mask = following.find("mask")
            masks = len((mask.value or "").split(",")) if mask else 0
            section = _with(section, filters=masks * (classes + 5))
        changed.append(section)
    return changed


def _with(section: Section, **values: int) -> Section:
    kept = [entry for entry in section.entries if entry.key not in values]
    new = [Entry(key, str(value), section.line) for key, value in values.items()]
    return Section(section.kind, section.line, section.path, (*new, *kept))


def run(command: list[str], setting: Setting, *, search: Path | None = None) -> str:
    """Return what a contender prints; its threads are limited by the environment.

    Args:
        command: The program and its arguments.
        setting: Threads, and the folder that it runs in.
        search: A folder to import packages from, before all others.
    """
    environment = dict(os.environ, OMP_NUM_THREADS=str(setting.threads), MKL_NUM_THREADS=str(setting.threads))
    root = str(LOOPS.parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([str(search), root] if search else [root])
    done = subprocess.run(
        command, cwd=setting.folder, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        raise click.ClickException(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def darknet_round(printed: str) -> Round:
    """Return the medians from darknet's own lines, ``Loaded:`` and the iteration line, warm-up left out."""
    waited = [float(seconds) for seconds in LOADED.findall(printed)][WARM_UP:]
    trained = [float(seconds) for seconds in TRAINED.findall(printed)][WARM_UP:]
    if not trained or len(waited) != len(trained):
        raise click.ClickException(
            f"found {len(trained)} iterations and {len(waited)} 'Loaded:' lines; both must be equal"
        )
    return Round(statistics.median(map(sum, zip(waited, trained, strict=True))), statistics.median(waited))


def loop_round(printed: str) -> Round:
    """Return the median of bench_loops.py's lines, warm-up left out."""
    seconds = [float(match) for match in ITERATION.findall(printed)][WARM_UP:]
    return Round(statistics.median(seconds), 0.0)


def contenders(setting: Setting, *, reference: Path | None, pytorchyolo: Path | None) -> dict[str, Callable[[], Round]]:
    """Return the programs to compare, by name; each call is one process."""
    cfg, data = str(setting.folder / "net.cfg"), str(setting.folder / "net.data")
    ours = [sys.executable, "-m", "darkpy", "detector", "train", data, cfg, "-dont_show"]
    ours += ["-threads", str(setting.threads), "-workers", str(setting.workers)]
    loop = [cfg, data, str(setting.iterations), str(setting.workers)]
    found: dict[str, Callable[[], Round]] = {"darkpy": lambda: darknet_round(run(ours, setting))}
    if reference is not None:
        theirs = [str(reference.resolve()), "detector", "train", data, cfg, "-dont_show"]
        found["reference"] = lambda: darknet_round(run(theirs, setting))
    if pytorchyolo is not None:
        rival = [sys.executable, str(LOOPS), "pytorchyolo", *loop]
        found["pytorchyolo"] = lambda: loop_round(run(rival, setting, search=pytorchyolo.resolve()))
    found["bare torch"] = lambda: loop_round(run([sys.executable, str(LOOPS), "bare", *loop], setting))
    return found


def report(rounds: dict[str, list[Round]]) -> None:
    """Print medians, each round, and the ratios to darkpy."""
    medians = {name: statistics.median(round_.seconds for round_ in all_) for name, all_ in rounds.items()}
    own = medians.get("darkpy")
    click.echo(f"\n{'':12s} seconds  / darkpy  rounds")
    for name, median in medians.items():
        ratio = f"{median / own:8.2f}" if own else f"{'-':>8s}"
        each = "  ".join(f"{round_.seconds:.3f}" for round_ in rounds[name])
        click.echo(f"{name:12s} {median:7.3f}  {ratio}  {each}")
    if own:
        share = statistics.median(round_.waited / round_.seconds for round_ in rounds["darkpy"])
        click.echo(f"darkpy waits for data during {share:.1%} of its time.")


@click.command(context_settings={"show_default": True})
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--cfg", type=click.Path(path_type=Path), default=Path("cfg/yolov4-tiny.cfg"), help="The network.")
@click.option("--reference", type=click.Path(exists=True, path_type=Path), help="A compiled C darknet.")
@click.option(
    "--pytorchyolo", type=click.Path(exists=True, path_type=Path), help="Folder with the package pytorchyolo."
)
@click.option("--only", multiple=True, help="Run just these contenders, such as --only 'bare torch'.")
@click.option("--rounds", default=3, help="Processes of each contender, in turn.")
@click.option("--iterations", default=8, help=f"Of each process; the first {WARM_UP} do not count.")
@click.option("--batch", default=8, help="Pictures of an iteration, subdivisions=1.")
@click.option("--threads", default=2, help="Of each contender.")
@click.option("--workers", default=2, help="Loader processes of darkpy and pytorchyolo.")
def main(
    data: Path,
    cfg: Path,
    reference: Path | None,
    pytorchyolo: Path | None,
    only: tuple[str, ...],
    rounds: int,
    iterations: int,
    batch: int,
    threads: int,
    workers: int,
) -> None:
    """Compare one training iteration on the pictures of DATA."""
    with tempfile.TemporaryDirectory(prefix="bench_train_") as name:
        setting = Setting(Path(name).resolve(), threads, workers, iterations)
        lay_out(setting.folder, read_datafile(data), locate(cfg)[0], batch=batch, iterations=iterations)
        click.echo(f"{cfg}, batch={batch}, float32, {threads} threads; {rounds} rounds of {iterations} iterations")
        results: dict[str, list[Round]] = {}
        for number in range(rounds):
            for label, measure in contenders(setting, reference=reference, pytorchyolo=pytorchyolo).items():
                if only and label not in only:
                    continue
                click.echo(f"round {number + 1}: {label} ... ", nl=False)
                results.setdefault(label, []).append(measure())
                click.echo(f"{results[label][-1].seconds:.3f} s")
        report(results)


if __name__ == "__main__":
    main()
