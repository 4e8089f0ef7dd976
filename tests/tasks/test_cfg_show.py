"""darkpy cfg show: what is printed where, and which files it replaces."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from sections import NET, conv, lines

from darkpy.blueprint import read_blueprint
from darkpy.cli.main import darkpy, run
from darkpy.errors import CfgError, SetupError
from darkpy.tasks.cfg_show import show

LAYERS = conv(filters=4, size=3, stride=2, pad=1) + conv(filters=2, unknown=1) + lines("upsample", {"stride": 2})


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.cfg"
    path.write_text(NET.format(width=16, height=16) + "typo=1\n" + LAYERS, encoding="utf-8")
    return path


def test_table_goes_to_stdout_and_notes_to_stderr(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(net) == 0
    out, err = capsys.readouterr()
    blueprint = read_blueprint(net)
    notes = [*blueprint.notes, *(note for layer in blueprint.layers for note in layer.notes)]
    assert out.splitlines() == [line for line in blueprint.table() if line not in notes]
    assert out.splitlines()[1].startswith("   0 conv      4 ")
    assert err.splitlines() == notes
    assert any("typo" in note for note in notes)
    assert any("unknown" in note for note in notes)


def test_picture_is_written_beside_the_table(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "graph.svg"
    assert show(net, svg=target) == 0
    out, err = capsys.readouterr()
    assert out.endswith("avg_outputs = 298 \n")
    assert err.endswith(f"{target}: the network's graph.\n")
    content = target.read_bytes()
    assert b"<svg" in content
    assert b"net.cfg" in content
    assert b"3 layers" in content
    assert f"{3 * 9 * 4 + 4 + 4 * 2 + 2} parameters".encode() in content
    assert b"\r" not in content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.svg", "net.cfg"]


def test_an_older_picture_and_an_empty_file_are_replaced(net: Path, tmp_path: Path) -> None:
    target = tmp_path / "graph.SVG"
    target.touch()
    show(net, svg=target)
    older = target.read_text(encoding="utf-8")
    assert "net.cfg" in older
    other = net.rename(tmp_path / "other.cfg")
    show(other, svg=target)
    assert target.read_text(encoding="utf-8") == older.replace("net.cfg", "other.cfg")


@pytest.mark.parametrize("content", [b"\x00mine", b"<?xml version='1.0'?>\n<!-- mine -->\n<svg></svg>"])
def test_a_file_of_the_users_is_kept(net: Path, tmp_path: Path, content: bytes) -> None:
    target = tmp_path / "notes.svg"
    target.write_bytes(content)
    with pytest.raises(
        CfgError, match=r"^-svg .*notes\.svg: is there already, and not from cfg show, so it is kept\. "
    ):
        show(net, svg=target)
    assert target.read_bytes() == content


def test_the_cfg_itself_is_kept(net: Path) -> None:
    before = net.read_bytes()
    with pytest.raises(
        CfgError, match=r"net\.cfg: the picture is an SVG file\. Let its name end in \.svg: net\.svg\.$"
    ):
        show(net, svg=net)
    assert net.read_bytes() == before


def test_a_folder_is_no_picture(net: Path, tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"^-svg .*: is a folder\. Name a file in it, such as .*net\.svg\.$"):
        show(net, svg=tmp_path)


@pytest.mark.parametrize("name", ["missing/graph.svg", "net.cfg/graph.svg", "x" * 300 + ".svg", "a\0b.svg"])
def test_where_nothing_can_be_written_is_said_in_one_line(net: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(CfgError, match=r"^-svg [^\n]*: cannot be written: [^\n]*can be written\.$"):
        show(net, svg=tmp_path / name)


def test_a_picture_that_cannot_be_read_is_said_in_one_line(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "graph.svg"
    target.write_text("<svg/>", encoding="utf-8")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        CfgError, match=r"^-svg .*graph\.svg: cannot be read: Permission denied\. Choose another name\.$"
    ):
        show(net, svg=target)


def test_a_cfg_that_does_not_load_leaves_no_picture(tmp_path: Path) -> None:
    net = tmp_path / "net.cfg"
    net.write_text(NET.format(width=16, height=16) + "[nonsense]\n", encoding="utf-8")
    with pytest.raises(CfgError, match="Type not recognized"):
        show(net, svg=tmp_path / "graph.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["net.cfg"]


def test_a_missing_package_is_said_before_the_table(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    with pytest.raises(SetupError, match=r"pip install drawsvg$"):
        show(net, svg=tmp_path / "graph.svg")
    assert capsys.readouterr().out == ""
    assert show(net) == 0


def test_a_cfg_that_comes_with_darkpy_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert show(Path("demo.cfg")) == 0
    assert "using the one that comes with darkpy" in capsys.readouterr().err


def test_command_line(net: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(darkpy, ["cfg", "show", str(net), "-svg", str(tmp_path / "a.svg")])
    assert result.exception is None
    assert (tmp_path / "a.svg").exists()


def test_a_mistake_ends_with_status_1(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cfg", "show", str(net), "-svg", str(net)]) == 1
    assert capsys.readouterr().err.startswith("Error: -svg ")
