"""Words -> keyword arguments of the tasks, which are stand-ins here."""

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from darkpy.cli.main import run

DEVICE = {"device": None, "gpus": None, "threads": None}
DEFAULTS: dict[str, dict[str, Any]] = {
    "train": {**DEVICE, "clear": False, "measure_map": False, "map_epochs": 4, "threshold": 0.25, "iou_threshold": 0.5,
              "dont_show": False, "show_imgs": False, "chart": None, "seed": None, "workers": None,
              "map_every": None, "save_every": None},
    "test": {**DEVICE, "threshold": 0.25, "letter_box": False, "ext_output": False, "save_labels": False, "out": None,
             "dont_show": False, "seed": None},
    "map": {**DEVICE, "threshold": 0.25, "iou_threshold": 0.5, "points": 0, "workers": None,
            "coco": False},
    "valid": {**DEVICE, "out": None, "workers": None},
    "recall": {**DEVICE, "workers": None},
    "calc_anchors": {"num_of_clusters": 5, "width": -1, "height": -1, "show": False, "dont_show": False, "seed": None,
                     "genetic": False, "net": None, "new_cfg": None, "force": False},
}  # fmt: skip
FUNCTION = {"train": "train", "test": "test", "map": "measure", "valid": "validate", "recall": "recall",
            "calc_anchors": "calc_anchors"}  # fmt: skip


class Recorder:
    """Stands in for a task: keeps what it was called with."""

    def __init__(self) -> None:
        self.files: tuple[Path | None, ...] = ()
        self.options: dict[str, Any] = {}

    def __call__(self, *files: Path | None, **options: Any) -> int:
        self.files, self.options = files, options
        return 7


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.data", "a.cfg", "a.weights"):
        Path(name).touch()
    return tmp_path


@pytest.fixture
def tasks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Recorder]:
    recorders = {command: Recorder() for command in DEFAULTS}
    for command, recorder in recorders.items():
        module = ModuleType(f"darkpy.tasks.{command}")
        setattr(module, FUNCTION[command], recorder)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return recorders


@pytest.mark.parametrize("command", sorted(DEFAULTS))
def test_defaults_reach_the_task_and_its_status_comes_back(command: str, tasks: dict[str, Recorder]) -> None:
    assert run(f"detector {command} a.data a.cfg".split()) == 7
    more = {"test": (None, None), "calc_anchors": ()}.get(command, (None,))  # weights, image
    assert tasks[command].files == (Path("a.data"), Path("a.cfg"), *more)
    assert tasks[command].options == DEFAULTS[command]


@pytest.mark.parametrize("command", sorted(DEFAULTS))
def test_the_tasks_take_these_keywords(command: str) -> None:
    module = __import__(f"darkpy.tasks.{command}", fromlist=["x"])
    parameters = inspect.signature(getattr(module, FUNCTION[command])).parameters.values()
    keywords = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    assert keywords == set(DEFAULTS[command])


def test_values_reach_the_task(tasks: dict[str, Recorder]) -> None:
    line = (
        "detector train a.data a.cfg a.weights -clear -map -mAP_epochs 2 -thresh .3 -iou_thresh=0.6 -dont_show -seed 5 "
        "-threads 2 -workers 0 -device cuda:1 -chart old.png"
    )
    assert run(line.split()) == 7
    assert tasks["train"].files == (Path("a.data"), Path("a.cfg"), Path("a.weights"))
    assert tasks["train"].options == {
        **DEFAULTS["train"], "clear": True, "measure_map": True, "map_epochs": 2, "threshold": 0.3,
        "iou_threshold": 0.6,
        "dont_show": True, "seed": 5, "threads": 2, "workers": 0, "device": "cuda:1", "chart": Path("old.png"),
    }  # fmt: skip


def test_calc_anchors_needs_no_cfg(tasks: dict[str, Recorder]) -> None:
    line = "detector calc_anchors a.data -num_of_clusters 9 -width 416 -height 320 -show -genetic -seed 3"
    assert run(line.split()) == 7
    assert tasks["calc_anchors"].files == (Path("a.data"), None)
    assert tasks["calc_anchors"].options == {
        **DEFAULTS["calc_anchors"], "num_of_clusters": 9, "width": 416, "height": 320, "show": True, "genetic": True,
        "seed": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("words", "clusters"), [("", None), ("-num_of_clusters 5", 5)])
def test_calc_anchors_takes_the_number_of_a_cfg_that_it_copies(
    words: str, clusters: int | None, tasks: dict[str, Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"detector calc_anchors a.data -cfg a.cfg -o b.cfg -force {words}".split()) == 7
    assert tasks["calc_anchors"].options == {
        **DEFAULTS["calc_anchors"], "num_of_clusters": clusters, "net": Path("a.cfg"),
        "new_cfg": Path("b.cfg"), "force": True,
    }  # fmt: skip
    assert "Note" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "detector train a.data a.cfg -map -dont_show",
        "detector -map -dont_show train a.data a.cfg",
        "-dont_show detector train a.data -map a.cfg",
        "detector train --map --dont-show a.data a.cfg",
    ],
)
def test_g01_options_before_the_verb_are_the_same_as_behind(line: str, tasks: dict[str, Recorder]) -> None:
    assert run(line.split()) == 7
    assert tasks["train"].files == (Path("a.data"), Path("a.cfg"), None)
    assert tasks["train"].options == {**DEFAULTS["train"], "measure_map": True, "dont_show": True}


def test_g03_a_number_after_map_is_never_a_weights_file(
    tasks: dict[str, Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("detector train a.data a.cfg -map 0.5".split()) == 2
    assert "'0.5' is a number and no weights file. -map takes no value" in capsys.readouterr().err
    assert tasks["train"].files == ()


def test_g04_map_in_capitals_gets_the_right_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detector train a.data a.cfg -mAP".split()) == 2
    assert capsys.readouterr().err.endswith("Error: No such option '-mAP'. Did you mean '-map'?\n")


def test_c22_a_data_file_with_txt_behind_it_is_suggested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("obj.data.txt").touch()
    assert run("detector train obj.data a.cfg".split()) == 1
    error = capsys.readouterr().err
    assert error == "Error: Couldn't open file: obj.data: not found. Did you mean obj.data.txt?\n"


def test_a_missing_cfg_to_copy_is_said_before_anything_slow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("detector calc_anchors a.data -cfg b.cfg".split()) == 1
    assert "Error: Couldn't open file: b.cfg: not found." in capsys.readouterr().err


@pytest.mark.parametrize("line", ["a.data b.cfg", "a.data a.cfg b.weights"])
def test_a_missing_file_is_said_before_anything_slow(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"detector map {line}".split()) == 1
    name = line.split()[-1]
    assert f"Error: Couldn't open file: {name}: not found." in capsys.readouterr().err


def test_a_cfg_that_comes_with_darkpy_needs_no_path(tasks: dict[str, Recorder]) -> None:
    assert run("detector map a.data cfg/yolov4-tiny.cfg".split()) == 7
    assert tasks["map"].files[1] == Path("cfg/yolov4-tiny.cfg")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("-i 2", {"gpus": (2,)}),
        ("-i -1", {"device": "cpu"}),
        ("-i 1 -gpus 0", {"gpus": (0,)}),
        ("-i 1 -device cpu", {"device": "cpu"}),
        ("-gpus 0,1", {"gpus": (0, 1)}),
    ],
)
def test_i_stands_for_one_gpu_unless_another_word_says_more(
    words: str, given: dict[str, Any], tasks: dict[str, Recorder]
) -> None:
    assert run(f"{words} detector map a.data a.cfg".split()) == 7
    assert tasks["map"].options == {**DEFAULTS["map"], **given}


def test_gpus_are_echoed_and_all_else_stays_off_stdout(
    tasks: dict[str, Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    run("detector train a.data a.cfg -gpus 0,1".split())
    out, err = capsys.readouterr()
    assert out == "0,1\n"
    assert "detector train, loading PyTorch" in err


@pytest.mark.parametrize(
    ("command", "option", "note"),
    [
        ("map", "-letter_box", "-letter_box has no effect on 'detector map': set letter_box=1 in [net]."),
        ("test", "-map", "-map has no effect on 'detector test'."),
        ("test", "-hier 0.3", "-hier has no effect on 'detector test': darknet never uses it either."),
        ("train", "-mjpeg_port 8090", "-mjpeg_port has no effect in this version of darkpy."),
        ("valid", "-thresh 0.5", "-thresh has no effect on 'detector valid'."),
        ("recall", "-ext_output", "-ext_output has no effect on 'detector recall'."),
        ("calc_anchors", "-thresh 0.5", "-thresh has no effect on 'detector calc_anchors'."),
        ("train", "-width 416", "-width has no effect on 'detector train'."),
        ("train", "-nogpu", "-nogpu has no effect on 'detector train': write -device cpu."),
    ],
)
def test_options_without_effect_are_taken_and_announced(
    command: str, option: str, note: str, tasks: dict[str, Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"detector {command} a.data a.cfg {option}".split()) == 7
    assert f"Note: {note}" in capsys.readouterr().err


def test_options_that_are_not_given_are_not_announced(
    tasks: dict[str, Recorder], capsys: pytest.CaptureFixture[str]
) -> None:
    run("detector map a.data a.cfg".split())
    assert "Note" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("detector train a.data", "Missing argument 'CFG'."),
        ("detector map a.data a.cfg a.weights 0.5", "Got unexpected extra argument (0.5)"),
        ("detector map a.data a.cfg -thresh abc", "'abc' is no number."),
        ("detector calc_anchors a.data -num_of_clusters 0", "0 is not in the range x>=1"),
        ("detector calc_anchors a.data -width 416.5", "'416.5' is not a valid integer"),
        ("detector train a.data a.cfg -seed x", "'x' is not a valid integer"),
        ("detector train a.data a.cfg -seed 9223372036854775808", "is not in the range"),
        ("detector demo a.data a.cfg", "'darkpy detector demo' is not in this version of darkpy."),
        ("detector tarin a.data a.cfg", "No such command 'tarin'. Did you mean 'train'?"),
    ],
)
def test_bad_usage_ends_with_2(line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert message in capsys.readouterr().err
