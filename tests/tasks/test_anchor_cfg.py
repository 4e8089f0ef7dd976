"""The network of `detector calc_anchors` (darkpy/tasks/_anchor_cfg.py): its size, and the copy with the anchors."""

from pathlib import Path
from typing import Any

import pytest
from label_project import boxes, make, run

from darkpy.errors import CfgError
from darkpy.tasks._anchor_cfg import NetworkSize, network_size

CFG = """\
[net]
width={width}
height={height}

[convolutional]
filters=21
size=1

[yolo]
mask = 2,3,4
anchors = 1,1, 2,2, 3,3, 4,4, 5,5
classes=2
num=5

[route]
layers=-2

[convolutional]
filters=14
size=1

[yolo]
mask = 0,1  # the small ones
anchors = 1,1, 2,2, 3,3, 4,4, 5,5
classes=2
num=5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make({"a": boxes(0.1, 0.2, 0.3, 0.4, 0.5)})
    Path("net.cfg").write_text(CFG.format(width=320, height=160))
    return tmp_path


def size(width: int, height: int, **files: Path) -> NetworkSize:
    return network_size(width, height, **{"cfg": None, "net": None, **files})


@pytest.mark.parametrize(("width", "height", "missing"), [(416, -1, "-height"), (-1, 416, "-width")])
def test_a_missing_size_is_an_error(width: int, height: int, missing: str) -> None:
    with pytest.raises(CfgError, match=f"detector calc_anchors: {missing} missing. Set width and height"):
        size(width, height)


def test_two_missing_sizes_are_named_both() -> None:
    with pytest.raises(CfgError, match="-width and -height missing"):
        size(-1, -1)


@pytest.mark.parametrize(
    ("width", "height", "wrong"), [(0, 416, "-width 0"), (416, -5, "-height -5"), (2**21, 9, "-w")]
)
def test_sizes_out_of_range(width: int, height: int, wrong: str) -> None:
    with pytest.raises(CfgError, match=f"{wrong}.*must be from 1 to 1048576 pixels"):
        size(width, height)


@pytest.mark.parametrize("where", ["cfg", "net"])
def test_missing_sizes_come_from_a_cfg(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert size(-1, -1, **{where: Path("net.cfg")}) == NetworkSize(320, 160)
    assert capsys.readouterr().err == "-width 320 and -height 160: of net.cfg\n"


def test_a_given_size_goes_before_the_cfgs(capsys: pytest.CaptureFixture[str]) -> None:
    assert size(64, -1, cfg=Path("net.cfg")) == NetworkSize(64, 160)
    assert capsys.readouterr().err == "-height 160: of net.cfg\n"


def test_a_cfg_that_comes_with_darkpy_is_found() -> None:
    assert size(-1, -1, cfg=Path("cfg/yolov4-tiny.cfg")) == NetworkSize(416, 416)


def test_a_cfg_beside_both_sizes_has_no_effect_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert size(64, 32, cfg=Path("no.cfg")) == NetworkSize(64, 32)
    assert "no.cfg has no effect on 'detector calc_anchors' beside -width and -height" in capsys.readouterr().err


def test_a_cfg_beside_another_one_has_no_effect_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert size(-1, -1, cfg=Path("no.cfg"), net=Path("net.cfg")) == NetworkSize(320, 160)
    assert "no.cfg has no effect beside -cfg net.cfg" in capsys.readouterr().err


def test_a_cfg_without_a_size() -> None:
    Path("net.cfg").write_text("[net]\nheight=4\n[convolutional]\n")
    with pytest.raises(CfgError, match=r"net\.cfg: \[net\] has no width= above 0, and -width is missing"):
        size(-1, -1, cfg=Path("net.cfg"))


def test_a_cfg_that_is_none() -> None:
    Path("net.cfg").write_text("[yolo]\n")
    with pytest.raises(CfgError, match=r"net\.cfg:1: First section must be \[net\] or \[network\], but it is \[yolo\]"):
        size(-1, -1, cfg=Path("net.cfg"))


def copy(**options: Any) -> str:
    """Run with -cfg net.cfg and return the copy's text."""
    assert run(**{"num_of_clusters": None, "width": -1, "height": -1, "net": Path("net.cfg"), **options}) == 0
    return (options.get("new_cfg") or Path("net-anchors.cfg")).read_text()


def test_the_copy_has_the_anchors_in_every_head(capsys: pytest.CaptureFixture[str]) -> None:
    text = copy()
    old = CFG.format(width=320, height=160)
    assert text == old.replace("1,1, 2,2, 3,3, 4,4, 5,5", "32,16, 64,32, 96,48, 128,64, 160,80")
    out, error = capsys.readouterr()
    assert "num_of_clusters = 5, width = 320, height = 160" in out
    assert "+anchors = 32,16, 64,32, 96,48, 128,64, 160,80" in out
    assert "net.cfg has 5 anchors, and so many are calculated" in error
    assert Path("net.cfg").read_text() == old


def test_another_number_of_anchors_changes_masks_and_filters() -> None:
    text = copy(num_of_clusters=4)
    assert "filters=14\nsize=1\n\n[yolo]\nmask = 2,3\n" in text
    assert "mask = 0,1  # the small ones\n" in text
    assert text.count("num=4\n") == 2


def test_the_copy_gets_the_size_of_its_anchors() -> None:
    text = copy(width=640, height=320)
    assert "width=640\nheight=320\n" in text
    assert "anchors = 64,32, 128,64," in text


def test_a_copy_is_not_overwritten_unless_forced() -> None:
    Path("mine.cfg").write_text("mine")
    with pytest.raises(CfgError, match=r"mine\.cfg: exists already"):
        copy(new_cfg=Path("mine.cfg"))
    assert Path("mine.cfg").read_text() == "mine"
    assert not Path("anchors.txt").exists(), "said before anything slow"
    assert "32,16" in copy(new_cfg=Path("mine.cfg"), force=True)


def test_a_size_in_grid_cells_does_not_go_into_a_cfg() -> None:
    with pytest.raises(CfgError, match=r"13 x 13 is a size in grid cells, .* such as the cfg's 320 x 160"):
        copy(width=13, height=13)


def test_a_tiny_network_of_its_own_size_gets_its_anchors() -> None:
    Path("net.cfg").write_text(CFG.format(width=32, height=32))
    assert "anchors = 3.2,3.2, 6.4,6.4," in copy()


def test_a_network_without_anchors() -> None:
    Path("net.cfg").write_text("[net]\nwidth=64\nheight=64\n[convolutional]\n[softmax]\n")
    with pytest.raises(CfgError, match=r"-cfg net\.cfg: has no \[yolo\] or other head with anchors"):
        copy()


def test_fewer_anchors_than_heads_are_refused_before_anything_slow() -> None:
    with pytest.raises(CfgError, match="1 anchor for 2 heads"):
        copy(num_of_clusters=1)
    assert not Path("anchors.txt").exists()
    assert not Path("net-anchors.cfg").exists()


def test_a_size_that_the_cfg_cannot_take_is_refused_before_anything_slow() -> None:
    Path("net.cfg").write_text(CFG.format(width=320, height=160).replace("size=1\n", "size=1\nstride=32\n", 1))
    with pytest.raises(CfgError, match=r"width=100 must be a multiple of 32"):
        copy(width=100, height=160)
    assert not Path("anchors.txt").exists()


def test_o_and_force_without_cfg_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    run(new_cfg=Path("x.cfg"), force=True)
    error = capsys.readouterr().err
    assert "-o has no effect without -cfg." in error
    assert "-force has no effect without -cfg." in error
