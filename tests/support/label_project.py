"""A working folder with labels and a .data file, and `detector calc_anchors` in it."""

from pathlib import Path
from typing import Any

from darkpy.tasks.calc_anchors import calc_anchors

OPTIONS: dict[str, Any] = {
    "num_of_clusters": 2,
    "width": 416,
    "height": 416,
    "show": False,
    "dont_show": True,
    "seed": None,
    "genetic": False,
    "net": None,
    "new_cfg": None,
    "force": False,
}


def make(labels: dict[str, str], data: str = "classes = 2\n") -> None:
    """Write label files, the list and obj.data into the current folder; no picture, since none is read."""
    for name, text in labels.items():
        Path(f"{name}.txt").write_text(text)
    Path("train.list").write_text("".join(f"{name}.jpg\n" for name in labels))
    Path("obj.data").write_text(f"{data}train = train.list\n")


def boxes(*sizes: float) -> str:
    """Return a line for a square of each size, relative to the picture."""
    return "".join(f"0 0.5 0.5 {size} {size}\n" for size in sizes)


def run(cfg: Path | None = None, **options: Any) -> int:
    """Calculate anchors for obj.data."""
    return calc_anchors(Path("obj.data"), cfg, **{**OPTIONS, **options})
