"""A tiny project for whole runs of `detector train`: pictures, labels, lists, a cfg."""

import re
import struct
from pathlib import Path

import cv2
import numpy as np

from darkpy.tasks.train import train

CFG = """
[net]
batch={batch}
subdivisions={subdivisions}
width=64
height=64
channels=3
learning_rate=0.001
max_batches={max_batches}
{net}
[convolutional]
batch_normalize=1
filters=4
size=3
stride=2
pad=1
activation=leaky
[convolutional]
filters={filters}
size=1
activation=linear
[yolo]
mask=0,1
anchors=10,10,30,30
classes={classes}
num=2
jitter=.1
{head}
"""


class Project:
    """A data set of random pictures with one box each, and a cfg, in the working directory."""

    def __init__(self, folder: Path, *, pictures: int = 6, classes: int = 2) -> None:
        self.folder = folder
        self.classes = classes
        self.cfg = folder / "net.cfg"
        self.data = folder / "obj.data"
        rng = np.random.default_rng(1)
        names = []
        for number in range(pictures):
            path = folder / f"picture {number}.png"  # a blank in the name
            cv2.imwrite(str(path), rng.integers(0, 256, (48, 64, 3), dtype=np.uint8))
            path.with_suffix(".txt").write_text(f"{number % classes} .5 .5 .3 .4\n")
            names.append(str(path))
        (folder / "train.txt").write_text("\n".join(names) + "\n\n")
        (folder / "obj.names").write_text("".join(f"class {index}\n" for index in range(classes)))
        self.write_data()
        self.write_cfg()

    def write_data(self, **changes: object) -> None:
        values = {
            "classes": self.classes,
            "train": "train.txt",
            "valid": "train.txt",
            "names": "obj.names",
            "backup": "backup",
        } | changes
        self.data.write_text("".join(f"{key} = {value}\n" for key, value in values.items() if value is not None))

    def write_cfg(self, *, head: str = "", net: str = "", **changes: int) -> None:
        values = {"batch": 8, "subdivisions": 2, "max_batches": 4, "classes": self.classes} | changes
        self.cfg.write_text(CFG.format(head=head, net=net, filters=2 * (5 + self.classes), **values))

    def train(self, weights: Path | None = None, **options: object) -> int:
        return train(self.data, self.cfg, weights, **({"seed": 3, "device": "cpu", "workers": 0} | options))  # type: ignore[arg-type]


def seen(path: Path) -> int:
    return struct.unpack_from("<Q", path.read_bytes(), 12)[0]


def losses(out: str) -> list[str]:
    return re.findall(r"^ \d+: ([\d.]+), ", out, re.MULTILINE)
