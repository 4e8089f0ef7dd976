"""What scripts/parity.py reads, compares and writes (scripts/parity_tables.py, scripts/parity_curves.py)."""

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from darkpy.network import read_blueprint

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """Import a script by its path; the folder is no package."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


tables, curves = script("parity_tables"), script("parity_curves")

MAP = """
 detections_count = 12, unique_truth_count = 4  
 rank = 0 of ranks = 12 \rclass_id = 0, name = red cell, ap = 75.50%   \t (TP = 3, FP = 1) 
class_id = 1, name = ap = 1, ap = 0.00%   \t (TP = 0, FP = 0) 

 mean average precision (mAP@0.50) = 0.377500, or 37.75 % 
"""  # noqa: W291
TABLE = """ GPU isn't used
   layer   filters  size/strd(dil)      input                output
   0 conv     16       3 x 3/ 2    192 x 192 x   3 ->   96 x  96 x  16 0.008 BF
   1 yolo
[yolo] params: iou loss: ciou (4)
Total BFLOPS 0.008 
avg_outputs = 41801 
"""  # noqa: W291
ITERATION = (
    "\x1b[H\x1b[J{0}/50: loss={1} hours left=0.0\x07\n {0}: {1}, {1} avg loss, 0.001 rate, 0.1 seconds, 8 images"
)


def box(x: float, *, kind: int = 0, confidence: float = 0.5, picture: str = "a.jpg") -> object:
    """Make a box of a tenth of the picture, centre at half its height."""
    return tables.Box(picture, kind, confidence, (x, 0.5, 0.1, 0.1))


def test_map_figures() -> None:
    assert tables.read_map(MAP) == tables.MapFigures("0.377500", (75.5, 0.0), 12)


def test_losses_of_each_iteration_once() -> None:
    printed = "\n".join(ITERATION.format(number, loss) for number, loss in ((1, "62.1"), (2, "-nan"), (3, "7.25")))
    losses = tables.read_losses(printed)
    assert losses[::2] == [62.1, 7.25]
    assert math.isnan(losses[1])


def test_table_without_what_stands_around_it() -> None:
    rows = tables.read_table(TABLE)
    assert [row.split()[0] for row in rows] == ["0", "1", "[yolo]", "Total"]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (tables.read_map, "Segmentation fault", "no mAP printed"),
        (tables.read_losses, "Loaded: 0.1 seconds", "no iteration printed"),
        (tables.read_table, TABLE[:120], "no whole table"),
        (tables.read_boxes, "[\n", "no whole JSON file"),
        (tables.read_boxes, '[{"filename": "a.jpg"}]', "no whole JSON file"),
    ],
)
def test_output_that_is_cut_short_is_refused(read: object, text: str, message: str) -> None:
    with pytest.raises(tables.Unreadable, match=message):
        read(text)  # type: ignore[operator]


def test_rows_are_compared_letter_for_letter_and_notes_left_out() -> None:
    ours = tables.read_table(TABLE)
    assert tables.equal_rows(ours, ours) == (2, 2)
    assert tables.equal_rows(ours, [*ours, "   2 yolo"]) == (2, 3)
    assert tables.equal_rows(ours, [row.replace("ciou", "giou") for row in ours]) == (2, 2)
    assert tables.equal_rows(ours, [row.replace("192", "191") for row in ours]) == (1, 2)


def test_boxes_come_from_the_json_file() -> None:
    place = {"center_x": 0.3, "center_y": 0.5, "width": 0.1, "height": 0.1}
    found = {"class_id": 2, "name": "car", "relative_coordinates": place, "confidence": 0.75}
    text = json.dumps([{"frame_id": 1, "filename": "b.jpg", "objects": [found]}])
    assert tables.read_boxes(text) == [box(0.3, kind=2, confidence=0.75, picture="b.jpg")]


def test_each_box_goes_with_the_nearest_of_its_class_and_picture() -> None:
    theirs = [box(0.2), box(0.6, confidence=0.9)]
    ours = [box(0.61, confidence=0.875), box(0.2, kind=1), box(0.2)]
    apart = tables.box_difference(ours, theirs, {"a.jpg": (200, 100)})
    assert (apart.theirs, apart.ours, apart.strangers) == (2, 3, 1)
    assert apart.confidence == pytest.approx(0.025)
    assert apart.pixels == pytest.approx(2.0)


def test_boxes_of_one_side_alone_are_strangers() -> None:
    apart = tables.box_difference([], [box(0.5)], {"a.jpg": (10, 10)})
    assert (apart.strangers, apart.confidence, apart.pixels) == (1, 0.0, 0.0)


def test_largest_differences() -> None:
    assert tables.largest_difference([1.0, 5.0], [1.5, 5.0]) == 0.5
    assert tables.largest_ratio([11.0, 5.0], [10.0, 5.0]) == pytest.approx(0.1)
    assert tables.largest_ratio([math.nan], [1.0]) == math.inf
    for compare in (tables.largest_difference, tables.largest_ratio):
        with pytest.raises(tables.Unreadable, match="2 figures of the reference, 1 of darkpy"):
            compare([1.0], [1.0, 2.0])


def test_markdown_table() -> None:
    assert tables.markdown(["a", "b"], [["x|y", 1]]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |"


def test_only_what_is_between_the_markers_is_replaced() -> None:
    text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
    once = tables.replaced(text, "new\n")
    assert once == f"before\n{tables.BEGIN}\nnew\n{tables.END}\nafter\n"
    assert tables.replaced(once, "new\n") == once


@pytest.mark.parametrize("text", ["", tables.BEGIN, f"{tables.END}\n{tables.BEGIN}", tables.BEGIN * 2 + tables.END])
def test_a_file_without_its_markers_is_refused(text: str) -> None:
    with pytest.raises(tables.Unreadable, match="needs one line <!-- parity -->"):
        tables.replaced(text, "new")


@pytest.mark.parametrize("name", curves.CASES)
def test_every_curve_is_of_a_plain_chain_without_augmentation(name: str, tmp_path: Path) -> None:
    cfg = tmp_path / "net.cfg"
    cfg.write_text(curves.curve_cfg(name), encoding="utf-8")
    blueprint = read_blueprint(cfg)
    assert blueprint.net.max_batches == curves.ITERATIONS
    assert all(plan.sources == (plan.index - 1,) for plan in blueprint.layers)
    assert not any(getattr(plan.spec, "batch_normalize", False) for plan in blueprint.layers)
