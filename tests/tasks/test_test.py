"""`detector test` (darkpy/tasks/test.py), with a network that finds what it is told."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from commands import TEST_OPTIONS as OPTIONS

from darkpy.errors import CfgError, DataError
from darkpy.structures import Detections, NmsRule
from darkpy.tasks import test as task

CFG, WEIGHTS = Path("net.cfg"), Path("net.weights")
CAT = (0.5, 0.5, 0.5, 0.5, 0.9, 0.0)  # x, y, w, h and two probabilities


class FakeNetwork:
    """Finds the same boxes in every picture, and remembers what it was shown."""

    def __init__(self, *rows: Sequence[float], channels: int = 3, letter_box: bool = False) -> None:
        self.net = SimpleNamespace(width=32, height=32, channels=channels, letter_box=letter_box)
        self.classes = 2
        self.nms_rule = NmsRule()
        self.detection_layers = ((16, 28), (23, 28))
        self.blueprint = SimpleNamespace(bflops=1.0)
        self.rows = torch.tensor(rows, dtype=torch.float32).reshape(-1, 6)
        self.shown: list[torch.Tensor] = []
        self.threshold = -1.0

    def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
        self.shown.append(images)
        self.threshold = threshold
        return [Detections(self.rows[:, :4], torch.ones(len(self.rows)), self.rows[:, 4:])] * len(images)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two pictures and a data set's files."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.png", "b 1.png"):
        cv2.imwrite(name, np.full((50, 100, 3), 60, np.uint8))
    Path("obj.names").write_text("cat\ntraffic light\n")
    Path("obj.data").write_text("classes = 2\nnames = obj.names\n")
    return tmp_path


def run(
    monkeypatch: pytest.MonkeyPatch,
    network: FakeNetwork,
    image: str | None = "a.png",
    *,
    weights: Path | None = WEIGHTS,
    stdin: str = "",
    **options: Any,
) -> int:
    """Run the command on the CPU without a window."""
    monkeypatch.setattr(task, "open_network", lambda *_, **__: network)
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    path = Path(image) if image else None
    return task.test(Path("obj.data"), CFG, weights, path, **{**OPTIONS, **options})


def test_one_picture(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    network = FakeNetwork(CAT, (0.25, 0.5, 0.5, 0.5, 0.0, 0.5))
    assert run(monkeypatch, network, threshold=0.3, ext_output=True) == 0
    out = re.sub(r"in [\d.]+ milli", "in N milli", capsys.readouterr().out)
    assert out == (
        " Detection layer: 16 - type = 28 \n Detection layer: 23 - type = 28 \n"
        "a.png: Predicted in N milli-seconds.\n"
        "traffic light: 50%\t(left_x:    0   top_y:   13   width:   50   height:   25)\n"
        "cat: 90%\t(left_x:   25   top_y:   13   width:   50   height:   25)\n"
    )
    assert network.threshold == 0.3
    assert network.shown[0].shape == (1, 3, 32, 32)
    assert cv2.imread("predictions.jpg").shape == (50, 100, 3)


def test_c11_names_with_blanks_are_kept_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C11."""
    run(monkeypatch, FakeNetwork((*CAT[:4], 0.0, 0.9)), out=Path("r.json"))
    assert "\ntraffic light: 90%\n" in capsys.readouterr().out
    assert json.loads(Path("r.json").read_text())[0]["objects"][0]["name"] == "traffic light"


def test_g08_list_on_stdin(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """G08: CRLF, a blank line, a blank in a path, no line end at the end: one JSON object for each picture."""
    assert run(monkeypatch, FakeNetwork(CAT), None, stdin="a.png\r\n\r\nb 1.png", out=Path("r.json")) == 0
    out = capsys.readouterr().out
    assert out.startswith("Enter Image Path:  Detection layer: 16")
    assert out.endswith("cat: 90%\nEnter Image Path: ")
    frames = json.loads(Path("r.json").read_text())
    assert [(one["frame_id"], one["filename"]) for one in frames] == [(1, "a.png"), (2, "b 1.png")]


def test_unreadable_picture_of_a_list_is_named_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FakeNetwork(CAT), None, stdin="gone.png\na.png\n", out=Path("r.json")) == 1
    captured = capsys.readouterr()
    assert "Error: Cannot load image gone.png" in captured.err
    assert "1 pictures could not be used." in captured.err
    assert [one["filename"] for one in json.loads(Path("r.json").read_text())] == ["a.png"]


def test_unreadable_picture_is_an_error_and_leaves_no_labels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"Cannot load image bad\.jpg"):
        run(monkeypatch, FakeNetwork(CAT), "bad.jpg", save_labels=True, out=Path("r.json"))
    assert Path("r.json").read_bytes() == b"[\n\n]"
    assert not Path("bad.txt").exists()


def test_cut_off_jpeg_is_used_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    whole = cv2.imencode(".jpg", noise)[1].tobytes()
    Path("cut.jpg").write_bytes(whole[: len(whole) * 6 // 10])
    assert run(monkeypatch, FakeNetwork(CAT), "cut.jpg") == 0
    assert "cut.jpg: the JPEG is cut off" in capsys.readouterr().err


def test_labels_are_written(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for expected in ("", "-save_labels: a.txt: replaced"):
        assert run(monkeypatch, FakeNetwork(CAT), save_labels=True) == 0
        assert Path("a.txt").read_text() == "0 0.5000 0.5000 0.5000 0.5000\n"
        assert expected in capsys.readouterr().err


def test_g16_boxes_without_numbers_go_nowhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """G16: neither into labels nor into JSON, and that is said."""
    network = FakeNetwork((0.5, 0.5, float("inf"), 0.5, 0.9, 0.0), CAT, (float("nan"), 0.5, 0.1, 0.1, 0.9, 0.0))
    assert run(monkeypatch, network, save_labels=True, out=Path("r.json"), ext_output=True) == 0
    assert Path("a.txt").read_text() == "0 0.5000 0.5000 0.5000 0.5000\n"
    assert len(json.loads(Path("r.json").read_text())[0]["objects"]) == 1
    assert "a.png: 2 boxes are no finite numbers" in capsys.readouterr().err


@pytest.mark.parametrize("by_option", [True, False])
def test_letterbox_by_option_or_cfg(folder: Path, monkeypatch: pytest.MonkeyPatch, by_option: bool) -> None:
    network = FakeNetwork(CAT, letter_box=not by_option)
    run(monkeypatch, network, letter_box=by_option, out=Path("r.json"))
    assert network.shown[0][0, 0, [0, 31], 5].tolist() == [0.5, 0.5]  # grey bars
    (found,) = json.loads(Path("r.json").read_text())[0]["objects"]
    assert found["relative_coordinates"]["height"] == 1.0  # half the input is all of a picture 16 pixels high


def test_e09_grey_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E09."""
    network = FakeNetwork(CAT, channels=1)
    assert run(monkeypatch, network) == 0
    assert network.shown[0].shape == (1, 1, 32, 32)
    assert Path("predictions.jpg").stat().st_size > 0


def test_duplicates_are_suppressed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, FakeNetwork(CAT, (0.5, 0.5, 0.5, 0.5, 0.8, 0.0)))
    assert capsys.readouterr().out.count("cat: ") == 1


def test_fewer_names_than_classes_are_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("obj.names").write_text("cat\n")
    with pytest.raises(
        DataError, match=r"obj\.data:2: names: number of names 1 in obj\.names isn't equal to classes=2"
    ):
        run(monkeypatch, FakeNetwork(CAT))


def test_c08_classes_of_data_and_cfg_differ(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C08: the cfg's 2 classes are used."""
    Path("obj.data").write_text("classes = 1\nnames = obj.names\n")
    run(monkeypatch, FakeNetwork((*CAT[:4], 0.0, 0.9)))
    captured = capsys.readouterr()
    assert "obj.data:1: classes=1, but classes=2 in net.cfg: the cfg counts." in captured.err
    assert "traffic light: 90%" in captured.out


def test_without_weights_it_runs_on_random_ones_of_the_seed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, FakeNetwork(CAT), weights=None, seed=3) == 0
    assert torch.initial_seed() == 3


def test_bad_json_path_is_refused_before_the_network_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "open_network", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(DataError, match="fopen failed"):
        task.test(Path("obj.data"), CFG, WEIGHTS, Path("a.png"), **{**OPTIONS, "out": Path("gone/r.json")})


def test_missing_names_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("obj.data").write_text("classes = 2\n")
    with pytest.raises(CfgError, match=r"obj\.data: no 'names = \.\.\.' line"):
        run(monkeypatch, FakeNetwork(CAT))


def test_unwritable_picture_and_missing_display_are_notes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(task, "can_show", lambda: False)
    Path("predictions.jpg").mkdir()
    assert run(monkeypatch, FakeNetwork(CAT), None, stdin="a.png\na.png\n", dont_show=False) == 0
    err = capsys.readouterr().err
    assert err.count("Failed to write image predictions.jpg") == 2
    assert err.count("No display: no window.") == 1


def test_window_unless_dont_show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[int, ...]] = []
    monkeypatch.setattr(task, "can_show", lambda: True)
    monkeypatch.setattr(task, "show", lambda name, image: shown.append(image.shape))
    run(monkeypatch, FakeNetwork(CAT), dont_show=True)
    assert shown == []
    run(monkeypatch, FakeNetwork(CAT), dont_show=False)
    assert shown == [(50, 100, 3)]
