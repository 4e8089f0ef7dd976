"""The words of ``data from-voc | from-coco | from-folders | to-coco | split`` (darkpy/cli/data.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from data_sets import picture, thing, voc

from darkpy.cli.main import run

ROOT = Path(__file__).parents[2]
OUT = {"out": Path("o"), "link": False, "force": False}


@pytest.mark.parametrize(
    ("line", "first", "options"),
    [
        (
            "data from-voc a b -o o",
            (Path("a"), Path("b")),
            {**OUT, "names": None, "difficult": "skip", "first_pixel": 1},
        ),
        (
            "data from-voc -difficult list a -first_pixel=0 -names n --link -o o -force",
            (Path("a"),),
            {"out": Path("o"), "link": True, "force": True, "names": Path("n"), "difficult": "list", "first_pixel": 0},
        ),
        (
            "data from-coco a.json -images d -o o -crowd keep",
            (Path("a.json"),),
            {**OUT, "images": Path("d"), "names": None, "crowd": "keep"},
        ),
        ("data from-folders d -o o -valid .3 -seed 7", Path("d"), {**OUT, "valid": 0.3, "seed": 7}),
        (
            "data to-coco a.data -o o -list train",
            Path("a.data"),
            {"out": Path("o"), "force": False, "which": "train"},
        ),
        (
            "data split a.txt -o o -group folder",
            Path("a.txt"),
            {"out": Path("o"), "force": False, "valid": None, "seed": None, "group": "folder"},
        ),
    ],
)
def test_words_become_arguments(
    line: str, first: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def task(value: Any, **keywords: Any) -> int:
        given.extend([value, keywords])
        return 0

    name = line.split()[1].replace("-", "_")
    module = ModuleType(f"darkpy.tasks.{name}")
    setattr(module, name, task)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert run(line.split()) == 0
    assert given == [first, options]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("data from-voc -o o", "Missing argument 'FOLDER...'"),
        ("data from-voc a", "Missing option '-o'"),
        ("data from-voc a -o o -difficult drop", "'drop' is not one of 'skip', 'keep', 'list'"),
        ("data from-coco a.json -o o -crowds keep", "Did you mean '-crowd'?"),
        ("data from-folders d -o o -valid 0", "'0' is not between 0.001 and 0.999"),
        ("data split a -o o -valid 1", "'1' is not between 0.001 and 0.999"),
        ("data from_voc a -o o", "Did you mean 'from-voc'?"),
    ],
)
def test_wrong_words(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_from_voc_to_coco_and_split_of_what_it_wrote(tmp_path: Path) -> None:
    """In one process each, as users run them."""
    members = {name: [thing("cat", 1, 1, 20, 15)] for name in "abcd"}
    voc(tmp_path / "VOC", members, {"train": "abc", "val": "d"})
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for line in ("from-voc VOC -o set", "to-coco set/obj.data -o set.json", "split set/obj.data -o two"):
        command = [sys.executable, "-m", "darkpy", "data", *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert len(json.loads((tmp_path / "set.json").read_text())["annotations"]) == 1
    assert len((tmp_path / "two" / "valid.txt").read_text().splitlines()) == 1


def test_none_of_the_commands_needs_torch(tmp_path: Path) -> None:
    """It takes seconds to import."""
    members = {name: [thing("cat", 1, 1, 20, 15)] for name in "abcd"}
    voc(tmp_path / "VOC", members, {"train": "abc", "val": "d"})
    for number, name in enumerate(("cat/1.png", "cat/2.png", "dog/1.bmp", "dog/2.bmp")):
        picture(tmp_path / "animals" / name, shade=number)
    lines = (
        "from-voc VOC -o set",
        "check set/obj.data -sheet sheet.png",
        "to-coco set/obj.data -o set/set.json",
        "from-coco set/set.json -images set/obj -o back",
        "split set/obj.data -o two",
        "from-folders animals -o cells",
    )
    code = "import sys; sys.modules['torch'] = None; from darkpy.cli.main import run; "
    code += f"print([run(['data', *line.split()]) for line in {lines}])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout.splitlines()[-1:] == ["[0, 0, 0, 0, 0, 0]"], done.stderr


def test_a_users_mistake_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture(tmp_path / "a.jpg")
    assert run(["data", "from-voc", str(tmp_path), "-o", str(tmp_path / "o")]) == 1
    assert capsys.readouterr().err.startswith("Error: ")
