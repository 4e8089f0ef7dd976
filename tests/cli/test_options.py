"""The options of ``detector`` against darknet's table."""

import click
import pytest

from darkpy.cli._darknet import option_table
from darkpy.cli._options import OPTIONS
from darkpy.cli.detector import detector

# name -> default, flag (False) or None: read in darknet's source, detector.c and darknet.c
DARKNET = {
    "-thresh": 0.25, "-hier": 0.5, "-iou_thresh": 0.5, "-points": 0, "-letter_box": False, "-ext_output": False,
    "-save_labels": False, "-out": None, "-dont_show": False, "-benchmark": False, "-benchmark_layers": False,
    "-map": False, "-mAP_epochs": 4, "-clear": False, "-gpus": None, "-show_imgs": False, "-chart": None,
    "-mjpeg_port": -1, "-json_port": -1, "-json_file_output": None, "-out_filename": None, "-prefix": None, "-c": 0,
    "-s": 0, "-avgframes": 3, "-dontdraw_bbox": False, "-time_limit_sec": 0, "-http_post_host": None,
    "-num_of_clusters": 5, "-width": -1, "-height": -1, "-show": False, "-i": 0,
}  # fmt: skip
USED = {
    "train": {
        "-thresh",
        "-iou_thresh",
        "-dont_show",
        "-map",
        "-mAP_epochs",
        "-clear",
        "-gpus",
        "-chart",
        "-i",
        "-show_imgs",
    },
    "test": {"-thresh", "-letter_box", "-ext_output", "-save_labels", "-out", "-dont_show", "-gpus", "-i"},
    "map": {"-thresh", "-iou_thresh", "-points", "-gpus", "-i"},
    "valid": {"-out", "-gpus", "-i"},
    "recall": {"-gpus", "-i"},
    "calc_anchors": {"-num_of_clusters", "-width", "-height", "-show", "-dont_show"},
}
OWN = {"train": {"-device", "-threads", "-workers", "-seed", "-map_every", "-save_every"},
       "test": {"-device", "-threads", "-seed"},
       "map": {"-device", "-threads", "-workers", "-coco"},
       "valid": {"-device", "-threads", "-workers"}, "recall": {"-device", "-threads", "-workers"},
       "calc_anchors": {"-seed", "-genetic", "-cfg", "-o", "-force"}}  # fmt: skip
COMMANDS = sorted(USED)


def test_the_table_is_darknets() -> None:
    ours = {option.name: False if option.type is None else option.default for option in OPTIONS}
    assert ours == DARKNET
    assert {option.name for option in OPTIONS if option.type is None} == {
        name for name, default in DARKNET.items() if default is False
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_whole_table_with_one_dash_and_two(command: str) -> None:
    names = option_table(detector.commands[command].params)
    assert {*DARKNET, *(f"-{name}" for name in DARKNET)} <= set(names)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_what_has_an_effect(command: str) -> None:
    shown = {param.opts[0] for param in detector.commands[command].params
             if isinstance(param, click.Option) and not param.hidden}  # fmt: skip
    assert shown == USED[command] | OWN[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_spelling_with_one_dash(command: str) -> None:
    text = detector.commands[command].get_help(click.Context(detector.commands[command]))
    integer = "-width" if command == "calc_anchors" else "-threads"
    assert f"  {integer} N" in text
    assert f"-{integer}" not in text
    assert "-mjpeg_port" not in text
    assert "default: -1" not in text, "it stands for none"
    assert "None" not in text
