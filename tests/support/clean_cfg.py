"""A cfg with two heads in which there is nothing to find, and ways to plant one defect."""

from pathlib import Path

CLEAN = """\
[net]
batch=64
subdivisions=16
width=96
height=64
channels=3
momentum=0.9
decay=0.0005
learning_rate=0.001
burn_in=100
max_batches=4000
policy=steps
steps=3200,3600
scales=.1,.1
mosaic=1

[convolutional]
batch_normalize=1
filters=8
size=3
stride=2
pad=1
activation=leaky

[convolutional]
filters=8
size=3
stride=8
pad=1
activation=leaky

[convolutional]
filters=8
size=3
stride=2
pad=1
activation=leaky

[convolutional]
size=1
stride=1
pad=1
filters=21
activation=linear

[yolo]
mask=3,4,5
anchors=4,4, 8,8, 12,12, 20,20, 30,30, 50,40
classes=2
num=6
jitter=.3
random=1

[route]
layers=-3

[upsample]
stride=2

[route]
layers=-1,1

[convolutional]
size=1
stride=1
pad=1
filters=21
activation=linear

[yolo]
mask=0,1,2
anchors=4,4, 8,8, 12,12, 20,20, 30,30, 50,40
classes=2
num=6
jitter=.3
random=1
"""


def planted(old: str, new: str, *, count: int = 1) -> str:
    """Return the clean cfg with the ``count``-th occurrence of ``old`` replaced; 0 replaces all."""
    assert old in CLEAN, f"{old!r} is not there"
    if count == 0:
        return CLEAN.replace(old, new)
    parts = CLEAN.split(old)
    assert len(parts) > count, f"{old!r} is not there {count} times"
    return old.join(parts[:count]) + new + old.join(parts[count:])


def line_of(text: str, marker: str, *, count: int = 1) -> int:
    """Return the number of the line in which ``marker`` stands for the ``count``-th time."""
    found = [number for number, line in enumerate(text.splitlines(), start=1) if marker in line]
    return found[count - 1]


def write_cfg(folder: Path, text: str) -> Path:
    """Write a cfg as ``net.cfg``."""
    path = folder / "net.cfg"
    path.write_text(text, encoding="utf-8")
    return path
