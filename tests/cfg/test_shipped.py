"""The cfg and data files that come with darkpy."""

from pathlib import Path

import pytest
import torch

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.cfg.net import NetSpec, net_warnings
from darkpy.cfg.options import Options
from darkpy.cfg.shipped import locate, shipped_folder
from darkpy.cfg.text import read_sections
from darkpy.network import Network, read_blueprint

CFGS = sorted(shipped_folder("cfg").glob("*.cfg"))
# Layers, "Total BFLOPS" and values in a weights file as the C darknet has them for the networks of these names.
FIGURES = {
    "demo": (12, "0.104", 149_448),
    "yolov3": (107, "65.879", 62_001_757),
    "yolov3-spp": (114, "141.531", 63_052_381),
    "yolov3-tiny": (24, "5.571", 8_858_734),
    "yolov4": (162, "128.459", 64_429_405),
    "yolov4-csp": (175, "77.003", 52_986_205),
    "yolov4-tiny": (38, "6.910", 6_062_814),
    "yolov7-tiny": (99, "5.802", 6_241_885),
}


def test_the_right_files_are_there() -> None:
    assert {path.stem for path in CFGS} == set(FIGURES)
    assert sorted(path.name for path in shipped_folder("data").iterdir()) == [
        "coco.data",
        "coco.names",
        "voc.data",
        "voc.names",
    ]


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_net_section_is_ready_for_training_and_has_no_stray_key(path: Path) -> None:
    options = Options(read_sections(path)[0])
    spec = NetSpec.parse(options)
    assert net_warnings(options) == []
    assert spec.batch * spec.subdivisions > 1
    assert spec.batch % spec.subdivisions == 0
    assert spec.max_batches > spec.burn_in > 0


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_keys_stand_in_one_order_in_all_files(path: Path) -> None:
    order: dict[str, list[str]] = {}
    for other in CFGS:
        for section in read_sections(other):
            known = order.setdefault(section.kind, [])
            known += [entry.key for entry in section.entries if entry.key not in known]
    for section in read_sections(path):
        keys = [entry.key for entry in section.entries]
        known = order[section.kind]
        assert len(keys) == len(set(keys))
        assert section.kind in ("net", "yolo") or keys == sorted(keys, key=known.index)


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_filters_before_each_head_fit_its_classes(path: Path) -> None:
    sections = read_sections(path)
    heads = [index for index, section in enumerate(sections) if section.kind == "yolo"]
    assert heads
    for index in heads:
        head = Options(sections[index])
        masks = head.integers("mask") or ()
        anchors = head.reals("anchors") or ()
        assert len(anchors) == 2 * head.integer("num", 1)
        assert max(masks) < head.integer("num", 1)
        filters = Options(sections[index - 1]).integer("filters", 0)
        assert filters == len(masks) * (head.integer("classes", 20) + 5)


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_layers_bflops_and_weights_are_those_of_darknet(path: Path) -> None:
    blueprint = read_blueprint(path)
    with torch.device("meta"):  # shapes without memory
        network = Network(blueprint)
    floats = sum(
        blob.numel()
        for layer, module in zip(blueprint.layers, network.layers, strict=True)
        for blob in layer.spec.blobs(module)
    )
    assert (len(blueprint.layers), f"{blueprint.bflops:.3f}", floats) == FIGURES[path.stem]


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_head_comment_tells_the_same_figures(path: Path) -> None:
    comment = path.read_text(encoding="utf-8").partition("[net]")[0]
    _, bflops, floats = FIGURES[path.stem]
    size = f"{20 + 4 * floats:,}".replace(",", " ")
    assert f"{bflops} BFLOPS" in comment
    assert f"{floats:,} floats = ".replace(",", " ") + f"{size} bytes" in comment
    for layer in read_blueprint(path).layers:
        if layer.kind == "yolo":
            net = Options(read_sections(path)[0])
            assert f"layer {layer.index} (stride {net.integer('width', 0) // layer.output.width}" in comment


@pytest.mark.parametrize("path", CFGS, ids=lambda path: path.stem)
def test_no_layer_has_a_default_or_a_stray_key_to_report(path: Path) -> None:
    assert [note for layer in read_blueprint(path).layers for note in layer.notes] == []


@pytest.mark.parametrize(("name", "classes"), [("coco", 80), ("voc", 20)])
def test_data_files_fit_their_names(name: str, classes: int) -> None:
    folder = shipped_folder("data")
    data = read_datafile(folder / f"{name}.data")
    assert data.notes == ()
    assert data.integer("classes") == classes
    names = read_names(folder / f"{name}.names")
    assert data.text("names") == f"data/{name}.names"
    assert len(names) == len(set(names)) == classes


def test_class_names_are_darknets_own_spelling() -> None:
    coco = read_names(shipped_folder("data") / "coco.names")
    voc = read_names(shipped_folder("data") / "voc.names")
    assert (coco[0], coco[9], coco[16], coco[79]) == ("person", "traffic light", "dog", "toothbrush")
    assert (voc[0], voc[6], voc[19]) == ("aeroplane", "car", "tvmonitor")


def test_a_missing_file_is_looked_up_by_name_and_that_is_said(tmp_path: Path) -> None:
    wanted = tmp_path / "cfg" / "yolov4.cfg"
    found, note = locate(wanted)
    assert found == shipped_folder("cfg") / "yolov4.cfg"
    assert note == f"{wanted}: not found as given; using the one that comes with darkpy: {found}"
    found, _ = locate(Path("no/such/folder/coco.data"))
    assert found == shipped_folder("data") / "coco.data"


def test_a_file_that_exists_is_taken_as_given(tmp_path: Path) -> None:
    own = tmp_path / "yolov4.cfg"
    own.touch()
    assert locate(own) == (own, None)


def test_a_file_that_is_nowhere_is_left_as_given(tmp_path: Path) -> None:
    assert locate(tmp_path / "x.cfg") == (tmp_path / "x.cfg", None)


def test_a_name_that_no_file_can_have_is_left_as_given() -> None:
    path = Path("x" * 5000)
    assert locate(path) == (path, None)
