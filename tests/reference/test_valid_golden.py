"""`detector valid` and `recall` write and print what the reference program does.

Text, order and rounding are the same byte for byte. The digits behind them come from float32 sums in another order:
probabilities agree to 5e-6, coordinates to 0.001 pixels.
"""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import RUN_OPTIONS

from darkpy.tasks.recall import recall
from darkpy.tasks.valid import validate

pytestmark = [pytest.mark.reference, pytest.mark.slow]

SMALL, XL = "yolo-fastest-1.1", "yolo-fastest-1.1-xl"
BODY = "yolo-fastest-1.1_body"
NUMBER = re.compile(r"-?\d+\.\d{6}")
FIGURES = json.loads((Path(__file__).parents[1] / "golden/valid.json").read_text())
CASES = {  # cfg, weights, form
    "voc": (SMALL, SMALL, "voc"),
    "voc_letterbox": (f"{SMALL}-letterbox", SMALL, "voc"),
    "coco": (SMALL, SMALL, "coco"),
    "imagenet": (XL, XL, "imagenet"),
    "kitti": (BODY, BODY, "kitti"),
    "bdd": (BODY, BODY, "bdd"),
}
PROBABILITY_FIRST = ("voc", "imagenet")


@pytest.fixture
def folder(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the five pictures and the networks, which is the current folder."""
    for name in ("data", "model"):
        shutil.copytree(shared / "golden/evaluation" / name, tmp_path / name, copy_function=shutil.copyfile)
    for file in (shared / "models/yolo-fastest").glob(f"{BODY}.*"):
        shutil.copyfile(file, tmp_path / "model" / file.name)
    shutil.copyfile(shared / "models/yolo-fastest/body.names", tmp_path / "data/body.names")
    shutil.copyfile(shared / "golden/evaluation/valid.txt", tmp_path / "valid.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_result_files(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cfg, weights, form = CASES[name]
    names = "body" if cfg == BODY else "coco"
    Path("obj.data").write_text(f"valid = valid.txt\nnames = data/{names}.names\neval = {form}\nresults = r\n")
    network = Path(f"model/{cfg}.cfg"), Path(f"model/{weights}.weights")
    assert validate(Path("obj.data"), *network, out=None, **RUN_OPTIONS) == 0
    files = sorted(path for path in Path("r").rglob("*") if path.is_file())
    text = "".join(f"{path.relative_to('r').as_posix()}\n{path.read_bytes().decode()}" for path in files)
    expected: dict[str, Any] = FIGURES[name]
    assert len(files) == expected["files"]
    assert hashlib.sha256(NUMBER.sub("N", text).encode()).hexdigest() == expected["sha256"]
    table = np.array([float(number) for number in NUMBER.findall(text)]).reshape(-1, 5)
    assert len(table) == expected["rows"]
    samples = table[[int(k * (len(table) - 1) / 15) for k in range(16)]]
    bounds = np.full(5, 1e-3)
    bounds[0 if form in PROBABILITY_FIRST else 4] = 5e-6
    assert (np.abs(samples - np.array(expected["samples"])) <= bounds).all()
    assert (np.abs(table.mean(axis=0) - np.array(expected["column_means"])) <= bounds).all()


def test_printed_lines(folder: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(shared / "golden/evaluation/obj.data", "obj.data")
    network = Path(f"model/{SMALL}.cfg"), Path(f"model/{SMALL}.weights")
    assert validate(Path("obj.data"), *network, out=None, **RUN_OPTIONS) == 0
    captured = capsys.readouterr()
    expected = (shared / "golden/evaluation/out/valid_voc.stdout").read_text()
    assert captured.out[captured.out.index(" seen ") :] == expected[expected.index(" seen ") :]
    lines = captured.err[captured.err.index("Learning Rate") :]
    assert re.sub(r": \d\.0{6} S", ": N S", lines) == (
        "Learning Rate: 0.001, Momentum: 0.949, Decay: 0.0005\n4\n8\nTotal Detection Time: N Seconds\n"
    )


def test_recall(folder: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(shared / "golden/evaluation/obj.data", "obj.data")
    assert recall(Path("obj.data"), Path(f"model/{SMALL}.cfg"), Path(f"model/{SMALL}.weights"), **RUN_OPTIONS) == 0
    expected = (shared / "golden/evaluation/out/recall.stderr").read_text()
    found = capsys.readouterr().err
    assert found[found.index("    0 ") :] == expected[expected.index("    0 ") :]
