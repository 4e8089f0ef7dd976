"""What `detector train` says before its first iteration, so that nobody need know of the checks."""

from pathlib import Path

import pytest
from training_project import Project

from darkpy.errors import CfgError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    made.write_data(valid="valid.txt")
    (tmp_path / "valid.txt").write_text("picture 5.png\n")
    train = (tmp_path / "train.txt").read_text().splitlines()
    (tmp_path / "train.txt").write_text("".join(f"{Path(name).name}\n" for name in train[:5]))
    return made


def diagnostics(err: str) -> list[str]:
    return [line for line in err.splitlines() if ": error: " in line or ": warning: " in line]


def test_a_good_run_hears_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.train(measure_map=True) == 0
    assert diagnostics(capsys.readouterr().err) == []


def test_all_errors_of_a_cfg_are_said_before_the_run_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    text = project.cfg.read_text()
    wrong = text.replace("activation=leaky", "activation=sillu").replace("filters=14", "filters=255")
    project.cfg.write_text(wrong.replace("mask=0,1", "mask=0,2"))
    with pytest.raises(CfgError, match=r"activation=sillu: unknown value"):
        project.train()
    lines = diagnostics(capsys.readouterr().err)
    assert [line.partition(": error: ")[2][:20] for line in lines] == ["[yolo] mask=0,2: nam"]


def test_what_loading_says_is_not_said_twice(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(net="foo=1\nema_alpha=0.99", head="anchors_=3")
    assert project.train() == 0
    err = capsys.readouterr().err
    assert err.count("Unused field: 'foo = 1'") == 1
    assert err.count("Unused field: 'anchors_ = 3'") == 1
    assert err.count("nothing is ever averaged") == 1
    assert diagnostics(err) == []


def test_an_odd_size_is_said_once(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.cfg.write_text(project.cfg.read_text().replace("width=64", "width=72"))
    assert project.train() == 0
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "width=72" in one]
    assert "must be divisible by 32" in line


def test_what_only_the_check_sees_is_said_once(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(net="burn_in=4", head="")
    assert project.train() == 0
    (line,) = diagnostics(capsys.readouterr().err)
    assert "warning: [net] burn_in=4: the rate is still rising when training ends" in line


def test_a_picture_in_both_lists_and_a_missing_one_are_said(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project.folder / "train.txt").open("a") as file:
        file.write("picture 5.png\nnone.png\n")
    assert project.train(measure_map=True) == 0
    err = capsys.readouterr().err
    lines = diagnostics(err)
    assert any("1 of 1" in line or "picture 5.png" in line for line in lines)
    assert "train.txt:7: error: 1 listed pictures are not there, the first in this line." in err
    assert "(darkpy data check" in err
    assert project.train() == 0
    assert "picture 5.png" not in "".join(diagnostics(capsys.readouterr().err))  # the valid list is not used


def test_anchors_of_another_set_are_said(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Forty small boxes, and anchors of 10x10 and 30x30 pixels."""
    rows = "".join(f"0 .5 .5 .0{5 + number % 3} .06\n" for number in range(10))
    for label in project.folder.glob("picture*.txt"):
        label.write_text(rows)
    assert project.train() == 0
    (line,) = diagnostics(capsys.readouterr().err)
    assert "net.cfg: warning: its anchors have an average IoU of" in line
    project.cfg.write_text(project.cfg.read_text().replace("anchors=10,10,30,30", "anchors=3,4,4,4"))
    assert project.train() == 0
    assert diagnostics(capsys.readouterr().err) == []
