"""Each defect planted in a clean cfg is found at its line, with the value to write, and nothing else is."""
# ruff: noqa: E501 - a table reads best with one case in each line

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from clean_cfg import CLEAN, line_of, planted, write_cfg

from darkpy.checks.cfg_check import check_cfg
from darkpy.diagnostics import Severity

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


class Plant(NamedTuple):
    """One defect: what is replaced, and what must be found."""

    name: str  # the case's number, or a word
    old: str
    new: str
    severity: Severity
    code: str
    marker: str  # stands in the line that is named
    fragments: Sequence[str]  # of the message
    expected: str | None = None
    count: int = 1  # which occurrence of `old`
    marker_count: int = 1


PLANTS = (
    Plant("A05", "batch=64\n", "batch=64\nbatch=1\n", WARNING, "duplicate-key", "batch=1", ["line 2", "(64)", "(1)"]),
    Plant("A06", "decay=0.0005\n", "decay=0.0005\ndecay=0.00005\n", WARNING, "duplicate-key", "decay=0.00005", ["line 8"]),
    Plant("A07", "scales=.1,.1\n", "", ERROR, "value", "policy=steps", ["scales is missing"]),
    Plant("A08", "scales=.1,.1", "scales=.1", ERROR, "value", "scales=.1", ["2 steps but 1 scales"]),
    Plant("A16", "activation=leaky", "activation=silu", WARNING, "value", "activation=silu", ["acts as swish"]),
    Plant("activation", "activation=leaky", "activation=sillu", ERROR, "value", "activation=sillu", ["Use one of"]),
    Plant("A20", "batch=64\nsubdivisions=16", "batch=1\nsubdivisions=1", WARNING, "batch", "batch=1", ["good for testing", "training refuses"], "batch=64"),
    Plant("A22", "filters=21", "filters=13", ERROR, "filters", "filters=13", ["filters=13", "needs 21 = 3 masks x (2 classes + 5)"], "filters=21"),
    Plant("A23", "filters=21", "filters=60", ERROR, "filters", "filters=60", ["needs 21"], "filters=21", 2),
    Plant("A26", "mask=0,1,2\n", "", ERROR, "filters", "filters=21", ["needs 42 = 6 masks"], "filters=42", 1, 2),
    Plant("A27", "num=6\njitter=.3\nrandom=1\n\n[route]", "num=6\nbatch=64\nwidth=416\n\n[route]", ERROR, "lost-net", "batch=64", ["'batch' and 'width' belong to [net]"], None, 1, 2),
    Plant("A28", "layers=-1,1", "layers=-1,0", ERROR, "shape", "[route]", ["layer 6 is 6x4", "layer 0 is 48x32"], None, 1, 2),
    Plant("A36", "mosaic=1\n", "mosaic=1\nfoo=1\n", WARNING, "unknown-key", "foo=1", ["Unused field: 'foo = 1'"]),
    Plant("mistyped", "batch_normalize=1", "batch_normalise=1", WARNING, "unknown-key", "batch_normalise", ["Did you mean 'batch_normalize'?"]),
    Plant("minibatch", "mosaic=1\n", "mosaic=1\nminibatch=4\n", WARNING, "unknown-key", "minibatch", ["use subdivisions"]),
    Plant("A43", "max_batches=4000\npolicy=steps\nsteps=3200,3600", "max_batches=1500\nema_alpha=0.9998\npolicy=steps\nsteps=1200,1350", WARNING, "no-effect", "ema_alpha", ["begins at iteration 750", "ends at 500"]),
    Plant("A44", "mosaic=1\n", "mosaic=1\nloss_scale=128\n", NOTE, "no-effect", "loss_scale", ["float32", "iteration 301"]),
    Plant("no value", "decay=0.0005", "decay=", WARNING, "no-value", "decay=", ["has no value"]),
    Plant("E07", "channels=3", "channels=2", ERROR, "value", "channels=2", ["2 channels not supported", "Set channels=3"], "channels=3"),
    Plant("E14", "width=96", "width=100", ERROR, "size", "width=100", ["multiple of 32", "Set width=96 or 128"], "width=128"),
    Plant("no width", "width=96\n", "", ERROR, "value", "[net]", ["width=0, height=64, channels=3"]),
    Plant("remainder", "subdivisions=16", "subdivisions=48", WARNING, "subdivisions", "subdivisions=48", ["does not divide batch=64", "48 images"], "subdivisions=32"),
    Plant("no batch", "batch=64\n", "", WARNING, "batch", "[net]", ["no batch=: counts as 1, so an iteration has 16 images"], "batch=64"),
    Plant("no batch, no subdivisions", "batch=64\nsubdivisions=16\n", "", WARNING, "batch", "[net]", ["no batch=: good for testing"], "batch=64"),
    Plant("no max_batches", "max_batches=4000\n", "", WARNING, "max_batches", "[net]", ["no max_batches=: no iterations"]),
    Plant("max_batches", "max_batches=4000\n", "max_batches=0\n", WARNING, "max_batches", "max_batches=0", ["nothing to train"]),
    Plant("burn_in", "burn_in=100", "burn_in=4000", WARNING, "schedule", "burn_in=4000", ["still rising", "max_batches=4000"]),
    Plant("late step", "steps=3200,3600", "steps=3200,4800", WARNING, "steps", "steps=3200,4800", ["step 4800 comes too late", "usual: steps=3200,3600."], "steps=3200,3600"),
    Plant("step at the end", "steps=3200,3600", "steps=3200,4000", WARNING, "steps", "steps=3200,4000", ["step 4000 comes too late"], "steps=3200,3600"),
    Plant("late of three", "steps=3200,3600\nscales=.1,.1", "steps=100,3200,4800\nscales=10,.1,.1", WARNING, "steps", "steps=100,", ["80 and 90 % of it are usual."]),
    Plant("falling steps", "steps=3200,3600", "steps=3600,3200", WARNING, "steps", "steps=3600,3200", ["must rise"]),
    Plant("scale too many", "scales=.1,.1", "scales=.1,.1,.1", WARNING, "steps", "scales=.1,.1,.1", ["3 scales but 2 steps"]),
    Plant("rate", "learning_rate=0.001", "learning_rate=0", WARNING, "learning_rate", "learning_rate=0", ["learns nothing"]),
    Plant("momentum", "momentum=0.9", "momentum=1.5", WARNING, "momentum", "momentum=1.5", ["from 0 to below 1"]),
    Plant("cells", "4,4, 8,8, 12,12, 20,20, 30,30, 50,40", "0.6,0.7, 1,1, 1.2,1.5, 1.5,1.6, 2,2, 2,1.5", WARNING, "anchors", "0.6,0.7", ["in grid cells"], None, 0, 1),
    Plant("colon", "filters=8\nsize=3\nstride=8", "filters:8\nfilters=8\nsize=3\nstride=8", WARNING, "unknown-key", "filters:8", ["Write filters=8."]),
    Plant("same mask", "mask=0,1,2", "mask=3,4,5", WARNING, "mask", "mask=3,4,5", ["earlier head's mask too"], None, 1, 2),
    Plant("gamma", "mosaic=1\n", "mosaic=1\ngamma=2\n", WARNING, "no-effect", "gamma=2", ["policy=steps, only with exp or sigmoid"]),
    Plant("B1", "mosaic=1\n", "mosaic=1\nB1=0.5\n", WARNING, "no-effect", "B1=0.5", ["without adam"]),
    Plant("cutmix", "mosaic=1\n", "mosaic=1\ncutmix=1\n", WARNING, "no-effect", "cutmix=1", ["training uses mosaic alone"], "cutmix=0"),
    Plant("cutmix by number", "mosaic=1\n", "mixup=2\n", WARNING, "no-effect", "mixup=2", ["training mixes no pictures"], "mixup=0"),
    Plant("both by number", "mosaic=1\n", "mixup=4\n", WARNING, "no-effect", "mixup=4", ["training uses mosaic alone"], "mixup=0"),
    Plant("cutmix alone", "mosaic=1\n", "cutmix=1\n", WARNING, "no-effect", "cutmix=1", ["training mixes no pictures"], "cutmix=0"),
    Plant("mosaic by number", "mosaic=1\n", "mixup=3\nletter_box=1\n", WARNING, "no-effect", "letter_box=1", ["training uses mosaic"]),
    Plant("mixup", "mosaic=1\n", "mosaic=1\nmixup=1\n", WARNING, "no-effect", "mixup=1", ["no effect beside mosaic=1"]),
    Plant("letter_box", "mosaic=1\n", "mosaic=1\nletter_box=1\n", WARNING, "no-effect", "letter_box=1", ["without letter_box"]),
    Plant("angle", "mosaic=1\n", "mosaic=1\nangle=7\n", NOTE, "no-effect", "angle=7", ["only the pictures of classifiers"]),
    Plant("late key", "mosaic=1\n", "mosaic=1\nequidistant_point=5000\n", WARNING, "no-effect", "equidistant_point", ["never acts", "(4000)"]),
    Plant("not yet", "mosaic=1\n", "mosaic=1\ntrack=1\n", NOTE, "no-effect", "track=1", ["no effect in this version"]),
    Plant("no number", "learning_rate=0.001", "learning_rate=fast", ERROR, "value", "learning_rate=fast", ["is no number"]),
    Plant("1e3", "max_batches=4000", "max_batches=4e3", ERROR, "value", "max_batches=4e3", ["Write 4000"], "max_batches=4000"),
    Plant("unknown section", "[upsample]", "[upsampel]", ERROR, "section", "[upsampel]", ["Did you mean [upsample]?"]),
    Plant("later section", "[upsample]\nstride=2", "[history]\nstride=2", ERROR, "unsupported", "[history]", ["not supported"]),
    Plant("no bracket", "[upsample]\n", "[upsample\n[upsample]\n", ERROR, "section", "[upsample", ["is no section"]),
    Plant("before net", "[net]", "batch=3\n[net]", ERROR, "section", "batch=3", ["stands before the first section"]),
    Plant("second net", "[upsample]\nstride=2\n", "[upsample]\nstride=2\n[net]\nbatch=1\n", ERROR, "section", "[net]", ["two cfg files in one"], None, 1, 2),
    Plant("classes", "classes=2\nnum=6\njitter=.3\nrandom=1\n\n", "classes=3\nnum=6\njitter=.3\nrandom=1\n\n", ERROR, "classes", "classes=3", ["classes=2 in the [yolo] of line 70"], "classes=2"),
    Plant("few anchors", ", 50,40", "", ERROR, "anchors", "anchors", ["10 numbers, but num=6 needs 12"], "12 numbers"),
    Plant("many anchors", "num=6", "num=5", ERROR, "value", "mask=3,4,5", ["names anchor 5, but num=5"], None, 0),
    Plant("other anchors", "20,20, 30,30", "21,20, 30,30", WARNING, "anchors", "21,20", ["other anchors than in the [yolo] of line 70"]),
    Plant("large anchor", "50,40", "150,140", WARNING, "anchors", "150,140", ["1 of 6 anchors are larger than the network (96x64"], None, 0, 2),
    Plant("mask beyond", "mask=0,1,2", "mask=0,1,6", ERROR, "value", "mask=0,1,6", ["names anchor 6, but num=6"]),
    Plant("mask twice", "mask=0,1,2", "mask=0,0,2", WARNING, "mask", "mask=0,0,2", ["names anchor 0 twice"]),
    Plant("zero anchor", "4,4, 8,8", "0,4, 8,8", ERROR, "value", "0,4", ["0 is no size"]),
    Plant("jitter", "jitter=.3", "jitter=.2", WARNING, "no-effect", "jitter=.2", ["only the last head's counts"], "jitter=0.3"),
    Plant("linear", "filters=21\nactivation=linear", "filters=21\nactivation=leaky", WARNING, "activation", "activation=leaky", ["needs activation=linear"], "activation=linear", 1, 4),
    Plant("new_coords", "mask=0,1,2\n", "mask=0,1,2\nnew_coords=1\n", WARNING, "activation", "activation=linear", ["needs activation=logistic"], "activation=logistic", 1, 2),
    Plant("iou_loss", "mask=0,1,2\n", "mask=0,1,2\niou_loss=ciuo\n", WARNING, "value", "iou_loss", ["iou_loss=ciuo is unknown"]),
    Plant("unread", "layers=-3", "layers=1\n\n[maxpool]\nsize=2\nstride=2\n\n[route]\nlayers=2", WARNING, "unread-layer", "[maxpool]", ["layer 6", "1 before it does nothing"]),
    Plant("forward route", "layers=-3", "layers=50", ERROR, "value", "layers=50", ["only layers 0 to 4"]),
    Plant("groups", "filters=8\nsize=3\nstride=8", "filters=8\ngroups=3\nsize=3\nstride=8", ERROR, "shape", "[convolutional]", ["groups=3 does not divide 8"], None, 1, 2),
    Plant("padding", "stride=8\npad=1\n", "stride=8\npad=1\npadding=1\n", WARNING, "no-effect", "padding=1", ["beside pad=1"]),
    Plant("dilation", "[convolutional]\nsize=1", "[convolutional]\ndilation=2\nsize=1", WARNING, "no-effect", "dilation=2", ["no effect with size=1"]),
    Plant("stopbackward", "stride=8\n", "stride=8\nstopbackward=5000\n", WARNING, "no-effect", "stopbackward", ["never train"]),
    Plant("xnor", "stride=8\n", "stride=8\nxnor=1\n", ERROR, "unsupported", "xnor=1", ["not supported"]),
    Plant("random size", "mosaic=1\n", "mosaic=1\nresize_step=16\n", ERROR, "size", "resize_step", ["resize_step=16", "random=1"], "resize_step=32"),
)  # fmt: skip
# The defect follows from another one, and is named too.
WITH_MORE = {
    "A26": ("mask",),  # without a mask a head has all anchors, those of the other too
    "many anchors": ("anchors", "anchors"),  # both lists have numbers left over
    "cells": ("anchors",),  # of both heads
    "same mask": ("mask",),  # nobody has the first three anchors
    "mask twice": ("mask",),  # the anchor in whose place it stands is not used
}


@pytest.mark.parametrize("net", ["mosaic=0", "mixup=1", "mosaic=1", "mixup=3", "mixup=1\nletter_box=1"])
def test_ways_to_mix_that_go_together_are_clean(net: str, tmp_path: Path) -> None:
    assert check_cfg(write_cfg(tmp_path, planted("mosaic=1", net))) == []


def test_the_clean_cfg_has_nothing_to_find(tmp_path: Path) -> None:
    assert check_cfg(write_cfg(tmp_path, CLEAN)) == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_defect_is_found_at_its_line_and_nothing_else(plant: Plant, tmp_path: Path) -> None:
    text = planted(plant.old, plant.new, count=plant.count)
    path = write_cfg(tmp_path, text)
    found = check_cfg(path)
    print("\n".join(map(str, found)))
    named = [one for one in found if one.line == line_of(text, plant.marker, count=plant.marker_count)]
    (right,) = [one for one in named if one.code == plant.code]
    assert (right.severity, right.path, right.expected) == (plant.severity, str(path), plant.expected)
    for fragment in plant.fragments:
        assert fragment in right.message
    assert [one.code for one in found if one is not right] == list(WITH_MORE.get(plant.name, ()))
