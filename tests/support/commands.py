"""What the command line hands to a task when no option is given, but on the CPU and without worker processes."""

from typing import Any

TEST_OPTIONS: dict[str, Any] = {
    "threshold": 0.25,
    "letter_box": False,
    "ext_output": False,
    "save_labels": False,
    "out": None,
    "dont_show": True,
    "device": "cpu",
    "gpus": None,
    "seed": None,
    "threads": None,
}
MAP_OPTIONS: dict[str, Any] = {
    "threshold": 0.25,
    "iou_threshold": 0.5,
    "points": 0,
    "device": "cpu",
    "gpus": None,
    "threads": None,
    "workers": 0,
}
RUN_OPTIONS: dict[str, Any] = {"device": "cpu", "gpus": None, "threads": None, "workers": 0}  # of valid, recall
