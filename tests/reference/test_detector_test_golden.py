"""`detector test` prints and writes what the reference program does."""

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import TEST_OPTIONS as OPTIONS

from darkpy.data.image import load_image, resize_for_network
from darkpy.evaluation.evaluator import without_duplicates
from darkpy.structures import Detections
from darkpy.tasks import test as task
from darkpy.tasks._network import open_network

pytestmark = [pytest.mark.reference, pytest.mark.slow]

XL = "model/yolo-fastest-1.1-xl"
PICTURES = ("dog", "eagle", "giraffe", "horses", "person")


@pytest.fixture
def golden(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The measured figures; the current folder is a copy of their inputs."""
    source = (shared / "golden/evaluation").resolve()
    for name in ("data", "model"):
        (tmp_path / name).mkdir()
        for file in (source / name).iterdir():
            shutil.copyfile(file, tmp_path / name / file.name)
    shutil.copyfile(source / "obj.data", tmp_path / "obj.data")
    monkeypatch.chdir(tmp_path)
    return source


def normal(text: str) -> str:
    """Return the lines from the one on the weights on, without the time."""
    return re.sub(r"Predicted in [\d.]+ ", "Predicted in N ", text[text.index(" seen ") :])


def run(image: str | None = "data/dog.jpg", **options: Any) -> int:
    """Run the command with the larger network on the CPU, without a window."""
    path = Path(image) if image else None
    return task.test(Path("obj.data"), Path(f"{XL}.cfg"), Path(f"{XL}.weights"), path, **{**OPTIONS, **options})


def detect(path: str, net: str, threshold: float) -> tuple[Detections, Detections]:
    """Return what a network finds in a picture, before and after suppression."""
    network = open_network(Path(f"{net}.cfg"), Path(f"{net}.weights"), device=torch.device("cpu"))
    pixels = resize_for_network(load_image(path, channels=3), width=network.net.width, height=network.net.height)
    with torch.no_grad():
        (found,) = network.detect(torch.from_numpy(pixels)[None], threshold)
    return found, without_duplicates(found, network.nms_rule)


def assert_same_rows(found: Detections, file: Path) -> None:
    """Compare with lines of index, objectness, x, y, w, h, and class:probability where it is not 0."""
    lines = [line.split() for line in file.read_text().splitlines()]
    lines = [line for line in lines if float(line[1])]  # two records of horses.jpg hold nothing at all
    assert len(found) == len(lines)
    classes = [[int(word.split(":")[0]) for word in line[6:]] for line in lines]
    assert [row.nonzero()[:, 0].tolist() for row in found.probabilities] == classes
    expected = torch.tensor([[float(word) for word in line[1:6]] for line in lines])
    values = torch.cat([found.objectness[:, None], found.boxes], dim=1)
    torch.testing.assert_close(values, expected, rtol=0, atol=1e-5)
    probabilities = torch.tensor([float(word.split(":")[1]) for line in lines for word in line[6:]])
    torch.testing.assert_close(found.probabilities[found.probabilities != 0], probabilities, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [("test_default", {}), ("test_ext", {"ext_output": True}), ("test_save", {"save_labels": True})],
)
def test_printed_lines(name: str, options: dict[str, Any], golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(**options) == 0
    assert normal(capsys.readouterr().out) == normal((golden / "out" / f"{name}.stdout").read_text())
    if name == "test_save":
        assert Path("data/dog.txt").read_text() == (
            "16 0.3257 0.6285 0.3540 0.6022\n"
            "15 0.3082 0.6616 0.2948 0.5773\n"
            "7 0.7326 0.2119 0.2951 0.1415\n"
            "2 0.7370 0.2093 0.3114 0.1419\n"
            "1 0.4471 0.5428 0.5983 0.6456\n"
        )


def test_json(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(out=Path("r.json")) == 0
    assert normal(capsys.readouterr().out) == normal((golden / "out/test_json.stdout").read_text())
    found, expected = Path("r.json").read_text(), (golden / "out/result_dog.json").read_text()
    number = re.compile(r"\d+\.\d{6}")
    assert number.sub("N", found) == number.sub("N", expected)  # every byte but the digits of a sum's rounding
    assert [float(text) for text in number.findall(found)] == pytest.approx(
        [float(text) for text in number.findall(expected)], abs=2e-6
    )


def test_g08_list_on_stdin(golden: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """G08, with CRLF, which the reference program cannot read."""
    monkeypatch.setattr("sys.stdin", io.StringIO("data/dog.jpg\r\ndata/person.jpg\r\n"))
    assert run(None, out=Path("r.json")) == 0
    assert normal(capsys.readouterr().out) == normal((golden / "out/test_stdin_json.stdout").read_text())
    frames = json.loads(Path("r.json").read_text())
    assert [[entry["name"] for entry in frame["objects"]] for frame in frames] == [
        ["dog", "cat", "truck", "car", "bicycle"],
        ["cow", "dog", "person"],
    ]


def test_letterbox(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(letter_box=True, ext_output=True) == 0
    assert capsys.readouterr().out.endswith(
        "cat: 45%\t(left_x:  108   top_y:  195   width:  274   height:  357)\n"
        "bicycle: 86%\t(left_x:  111   top_y:  130   width:  451   height:  375)\n"
        "dog: 94%\t(left_x:  113   top_y:  162   width:  305   height:  379)\n"
        "dog: 75%\t(left_x:  134   top_y:  221   width:  180   height:  306)\n"
        "car: 88%\t(left_x:  452   top_y:   72   width:  209   height:   93)\n"
        "truck: 26%\t(left_x:  452   top_y:   72   width:  209   height:   93)\n"
    )


def test_boxes_beyond_the_picture_are_printed_as_they_are(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("data/horses.jpg", ext_output=True) == 0
    assert "horse: 37%\t(left_x:  -28   top_y:  208   width:  258   height:  167)\n" in capsys.readouterr().out


@pytest.mark.parametrize("picture", PICTURES)
def test_detections_of_the_small_network(picture: str, golden: Path) -> None:
    raw, kept = detect(f"data/{picture}.jpg", "model/yolo-fastest-1.1", 0.005)
    assert_same_rows(raw, golden / f"vectors/small_map_{picture}.raw.txt")
    assert_same_rows(kept, golden / f"vectors/small_map_{picture}.nms.txt")


@pytest.mark.parametrize("picture", PICTURES)
def test_detections_of_the_larger_network(picture: str, golden: Path) -> None:
    _, kept = detect(f"data/{picture}.jpg", XL, 0.25)
    assert_same_rows(kept, golden / f"vectors/xl_test_{picture}.nms.txt")
