import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sections import NET, PATH, conv, lines

from darkpy.blueprint import plan_network
from darkpy.cfg.text import parse_sections
from darkpy.errors import SetupError
from darkpy.report.graph import Graph, lay_out
from darkpy.report.graph_svg import svg

SVG = "{http://www.w3.org/2000/svg}"
DOWN = conv(filters=8, size=3, stride=2, pad=1)
RESIDUAL = conv(filters=4) + conv(filters=8) + lines("shortcut", {"from": -3, "activation": "linear"})
YOLO = lines("yolo", {"mask": "0,1", "anchors": "4,5, 6,7", "num": 2, "classes": 3, "jitter": 0.1, "random": 0})
LAYERS = (
    DOWN
    + RESIDUAL * 2
    + DOWN
    + lines("upsample", {"stride": 2})
    + lines("route", {"layers": "-1,6"})
    + conv(filters=16)
    + YOLO
)


def graph(layers: str = LAYERS, *, path: Path = PATH) -> Graph:
    content = NET.format(width=32, height=32) + layers
    return lay_out(plan_network(parse_sections(content.split("\n"), str(path)), path), parameters=1234)


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def root() -> ElementTree.Element:
    return ElementTree.fromstring(svg(graph()))


def test_page_has_the_size_of_the_plan(root: ElementTree.Element) -> None:
    made = graph()
    assert (root.get("width"), root.get("height")) == (str(made.width), str(made.height))
    assert root.get("viewBox") == f"0 0 {made.width} {made.height}"


def test_paper_is_white_in_a_dark_viewer_too(root: ElementTree.Element) -> None:
    made = graph()
    first = next(root.iter(f"{SVG}rect"))
    assert (first.get("fill"), first.get("width"), first.get("height")) == (
        "#ffffff",
        str(made.width),
        str(made.height),
    )


def test_everything_is_said(root: ElementTree.Element) -> None:
    said = texts(root)
    for text in ("x.cfg", graph().subtitle, "stride 2", "16 x 16", "conv 3x3 /2", "2 x, 1 to 6", "yolo 3 classes"):
        assert text in said
    for text in ("head, grid 16 x 16", "mask 0, 1 of 2 anchors:", "4x5, 6x7", "detection head"):
        assert text in said


def test_a_line_carries_the_number_of_its_source(root: ElementTree.Element) -> None:
    coloured = [element.text for element in root.iter(f"{SVG}text") if element.get("fill") == "#1b6ca8"]
    assert coloured == ["6"]


def test_each_row_has_a_tooltip_with_its_place_in_the_cfg(root: ElementTree.Element) -> None:
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert len(titles) == 10  # the picture and layers 0, 1 to 3 (twice), 7, 8, 9, 10, 11
    places = Counter(word for title in titles for word in title.split() if word.startswith("x.cfg:"))
    assert len(places) == 12
    assert set(places.values()) == {1}
    assert any(title.startswith("11  x.cfg:") and "[yolo] params" in title for title in titles)


def test_one_plan_gives_one_file() -> None:
    assert svg(graph()) == svg(graph())


@pytest.mark.parametrize("name", ["a&b<c>.cfg", 'quote".cfg', "ä路\x07.cfg", "odd\udcff.cfg"])
def test_odd_names_give_sound_xml(name: str) -> None:
    root = ElementTree.fromstring(svg(graph(path=Path(name))).encode())
    shown = name.replace("\x07", "?").replace("\udcff", "?")
    assert shown in texts(root)
    assert any(f"{shown}:" in (element.text or "") for element in root.iter(f"{SVG}title"))


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    with pytest.raises(SetupError, match=r"^-svg draws .* not installed\. Install it: pip install drawsvg$"):
        svg(graph())
