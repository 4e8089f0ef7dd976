"""`detector recall` (darkpy/tasks/recall.py), with a network that finds what it is told."""

from pathlib import Path

import pytest
from commands import RUN_OPTIONS
from pictures import BOX, FakeNetwork, make_folder

from darkpy.errors import CfgError, WeightsError
from darkpy.tasks import recall as task


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    """The network; the current folder has three pictures."""
    monkeypatch.chdir(tmp_path)
    made = FakeNetwork()
    monkeypatch.setattr(task, "open_network", lambda *_, **__: made)
    make_folder("a b c")
    return made


def run(weights: Path | None = Path("net.weights")) -> int:
    return task.recall(Path("obj.data"), Path("net.cfg"), weights, **RUN_OPTIONS)


def test_a_line_for_each_picture_on_stderr(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.txt").write_text(f"0 {BOX}\n1 0.1 0.1 0.1 0.1\n")
    assert run() == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "    0     1     1\tRPs/Img: 1.00\tIOU: 100.00%\tRecall:100.00%\n"
        "    1     2     3\tRPs/Img: 1.00\tIOU: 66.67%\tRecall:66.67%\n"
        "    2     3     4\tRPs/Img: 1.00\tIOU: 75.00%\tRecall:75.00%\n"
    )


def test_labels_of_other_classes_count(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.txt").write_text(f"79 {BOX}\n")
    assert run() == 0
    assert "    2     3     3\t" in capsys.readouterr().err


def test_e02_unreadable_picture_is_named_and_missed(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    """E02: exit status 1."""
    Path("b.png").write_bytes(b"no picture")
    assert run() == 1
    error = capsys.readouterr().err
    assert "Cannot load image b.png" in error
    assert "    2     2     3\tRPs/Img: 0.67\t" in error
    assert "1 pictures could not be read; their objects count as missed." in error


def test_letterbox_of_the_cfg_is_not_used_and_that_is_said(
    network: FakeNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    network.net.letter_box = True
    run()
    assert "net.cfg: letter_box=1 has no effect on 'detector recall', as in darknet" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, 2, 3])
def test_c14_short_lists_work(count: int, network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    """C14."""
    Path("valid.txt").write_text("".join(f"{name}.png\n" for name in "abc"[:count]))
    assert run() == 0
    assert capsys.readouterr().err.count("RPs/Img") == count


def test_weights_are_required(network: FakeNetwork) -> None:
    with pytest.raises(WeightsError, match="detector recall: no weights given"):
        run(None)


def test_a_list_is_required(network: FakeNetwork) -> None:
    Path("obj.data").write_text("names = obj.names\n")
    with pytest.raises(CfgError, match="which detector recall needs"):
        run()
