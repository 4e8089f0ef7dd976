"""A small data set and cfg with nothing wrong, and what a check of it finds."""

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np

from darkpy.checks.data_check import Outcome, finish_check, plan_check
from darkpy.checks.data_reading import read_samples

SIDE = 64
LABEL = "0 .5 .5 .3 .4\n1 .3 .4 .25 .35\n"
CFG = """[net]
batch=8
subdivisions=2
width={width}
height={height}
channels={channels}
learning_rate=0.001
max_batches=100
[convolutional]
filters=4
size=3
stride=2
pad=1
activation=leaky
[convolutional]
filters=14
size=1
activation=linear
[yolo]
mask=0,1
anchors={anchors}
classes=2
num=2
"""


def write_picture(path: Path, *, width: int = SIDE, height: int = SIDE, channels: int = 3) -> None:
    """Write a picture unlike any other, in the form of its extension."""
    key = zlib.crc32(str(path).encode())
    shape = (height, width) if channels == 1 else (height, width, channels)
    cv2.imwrite(str(path), np.random.default_rng(key).integers(0, 256, shape, dtype=np.uint8))


def add(picture: str, label: str | None = LABEL, *, to: str = "train.txt", **form: int) -> None:
    """Write a picture with its label file into the current folder, and put it at the end of a list."""
    path = Path(picture)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, **form)
    if label is not None:
        path.with_suffix(".txt").write_text(label)
    with Path(to).open("a") as listed:
        listed.write(f"{picture}\n")


def write_clean_set() -> None:
    """Write into the current folder three train and two valid pictures with labels, names, obj.data and net.cfg."""
    for name in ("t1", "t2", "t3"):
        add(f"obj/{name}.png")
    for name in ("v1", "v2"):
        add(f"obj/{name}.png", to="valid.txt")
    Path("obj.names").write_text("cat\ntraffic light\n")
    Path("backup").mkdir()
    write_data()
    write_cfg()


def write_data(**changes: object) -> None:
    values = {"classes": 2, "train": "train.txt", "valid": "valid.txt", "names": "obj.names", "backup": "backup"}
    Path("obj.data").write_text("".join(f"{key} = {value}\n" for key, value in (values | changes).items()))


def write_cfg(**changes: object) -> None:
    values = {"width": SIDE, "height": SIDE, "channels": 3, "anchors": "16,22, 19,26"}
    Path("net.cfg").write_text(CFG.format(**(values | changes)))


def with_orientation(jpeg: bytes, orientation: int) -> bytes:
    """Return a JPEG with an EXIF block that says how it is turned."""
    tiff = b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    block = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + jpeg[2:]


def checked(net: str | None = "net.cfg", data: str = "obj.data") -> Outcome:
    """Return what a check of the set in the current folder finds."""
    plan = plan_check(Path(data), Path(net) if net else None)
    return finish_check(plan, list(read_samples(list(plan.pictures.values()), classes=plan.classes_bound, workers=2)))


def found(net: str | None = "net.cfg", data: str = "obj.data") -> list[tuple[str, str, str, int | None]]:
    """Return severity, code, path and line of all that a check finds."""
    return [(one.severity.name, one.code, one.path, one.line) for one in checked(net, data).diagnostics]


def message(code: str, net: str | None = "net.cfg") -> str:
    """Return the message of the only finding of a kind."""
    (text,) = [one.message for one in checked(net).diagnostics if one.code == code]
    return text
