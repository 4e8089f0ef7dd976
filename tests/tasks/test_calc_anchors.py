"""`detector calc_anchors` (darkpy/tasks/calc_anchors.py): printed bytes, files, and what is said about the labels."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from label_project import boxes, make, run

from darkpy.errors import CfgError, DataError
from darkpy.tasks import calc_anchors as task


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the labels of G06."""
    monkeypatch.chdir(tmp_path)
    make({"a": boxes(0.1, 0.5), "b": boxes(0.1, 0.1), "c": "", "d": boxes(0.5) + "1 0.5 0.5 0.5 0.5\n"})
    return tmp_path


def test_g06_anchors_and_darknets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """G06: the bytes of darknet's stdout, but for the counter, which moves once a picture."""
    assert run() == 0
    assert capsys.readouterr().out == (
        "\n num_of_clusters = 2, width = 416, height = 416 \n"
        " read labels from 4 images \n"
        "\r loaded \t image: 1 \t box: 2\r loaded \t image: 2 \t box: 4\r loaded \t image: 4 \t box: 6"
        "\n all loaded. \n"
        "\n calculating k-means++ ...\n"
        "\n iterations = 1 \n"
        "\n"
        "\ncounters_per_class = 5, 1\n"
        "\n avg IoU = 100.00 % \n"
        "\nSaving anchors to the file: anchors.txt \n"
        "anchors =  42, 42, 208,208\n"
    )
    assert Path("anchors.txt").read_bytes() == b" 42, 42, 208,208"
    assert Path("counters_per_class.txt").read_bytes() == b"counters_per_class = 5, 1"
    assert not Path("bad_label.list").exists()


def test_the_same_seed_gives_the_same_anchors_and_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(*np.linspace(0.02, 0.9, 60).round(4))})
    results = []
    for seed in (None, 0, 5):
        run(num_of_clusters=7, seed=seed)
        results.append(Path("anchors.txt").read_text())
    assert results[0] == results[1]
    error = capsys.readouterr().err
    assert error.count("with seed 0") == 2
    assert error.count("with seed 5") == 1


def test_d09_a_box_without_size_is_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    """D09."""
    make({"a": boxes(0.1, 0.5) + "0 .5 .5 0 0\n" + boxes(0.1, 0.5)})
    assert run() == 0
    assert "a.txt:3: Wrong annotation: w = 0, h = 0, but both must be above 0." in capsys.readouterr().err
    assert Path("anchors.txt").read_text() == " 42, 42, 208,208"
    assert Path("counters_per_class.txt").read_text() == "counters_per_class = 4, 0"
    assert Path("bad_label.list").read_text().startswith("a.txt Wrong annotation: w = 0, h = 0")


def test_boxes_in_pixels_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(0.1, 0.5) + "0 320 240 50 60\n"})
    run()
    assert "a.txt:3: Wrong annotation: not normalised" in capsys.readouterr().err
    assert Path("anchors.txt").read_text() == " 42, 42, 208,208"


def test_boxes_that_reach_out_of_the_picture_count_and_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(0.1), "b": "0 1.01 0.5 0.5 0.5\n0 0.5 0.5 1.2 0.5\n"})
    run()
    error = capsys.readouterr().err
    assert "b.txt:1: Wrong label: x = 1.010000, y = 0.500000, width = 0.500000, height = 0.500000. Boxes" in error
    assert "outside (0, 1], as this one: 2. They count all the same" in error
    assert Path("bad_label.list").read_text().splitlines() == [
        "b.txt Wrong label: x = 1.010000, y = 0.500000, width = 0.500000, height = 0.500000 (line 1)",
        "b.txt Wrong label: x = 0.500000, y = 0.500000, width = 1.200000, height = 0.500000 (line 2)",
    ]
    assert Path("counters_per_class.txt").read_text() == "counters_per_class = 3, 0"


def test_missing_labels_are_named_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.list").write_text("a.jpg\nb.jpg\nd.jpg\n" + "".join(f"x{n}.jpg\n" for n in range(12)))
    assert run() == 0
    error = capsys.readouterr().err
    assert error.count("Can't open label file.") == 10
    assert "2 more problems of this kind: pictures without a label file." in error
    assert len(Path("bad.list").read_text().splitlines()) == 12


def test_classes_beyond_those_of_the_data_file_count_with_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(0.1), "b": "4 0.5 0.5 0.5 0.5\n2 0.5 0.5 0.5 0.5\n"})
    run()
    error = capsys.readouterr().err
    assert error.count("Warning: obj.data:1: classes=2, but 2 boxes have a higher class than 1, up to 4") == 1
    assert Path("counters_per_class.txt").read_text() == "counters_per_class = 1, 0, 1, 0, 1"


def test_an_absurd_class_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(0.1, 0.5) + "1999999999 0.5 0.5 0.5 0.5\n"})
    run()
    assert "a.txt:3: Wrong annotation: class_id = 1999999999" in capsys.readouterr().err
    assert Path("counters_per_class.txt").read_text() == "counters_per_class = 2, 0"


def test_without_classes_in_the_data_file_all_count(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(0.1), "b": "2 0.5 0.5 0.5 0.5\n"}, data="")
    run()
    assert "obj.data: no 'classes = ...' line: the classes up to 2, as found, are counted." in capsys.readouterr().err
    assert Path("counters_per_class.txt").read_text() == "counters_per_class = 1, 0, 1"


def test_small_networks_have_four_places() -> None:
    run(width=13, height=26)
    assert Path("anchors.txt").read_text() == "1.3000,2.6000, 6.5000,13.0000"


def test_more_clusters_than_boxes() -> None:
    with pytest.raises(DataError, match="only 6 boxes for 7 clusters"):
        run(num_of_clusters=7)
    assert not Path("anchors.txt").exists()


def test_more_clusters_than_sizes_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(num_of_clusters=3) == 0
    assert "only 2 different box sizes for 3 clusters: some anchors are equal" in capsys.readouterr().err


def test_no_box_at_all() -> None:
    make({"a": "", "b": ""})
    with pytest.raises(DataError, match="no box in the labels of its 2 pictures"):
        run()


def test_a_train_list_is_needed() -> None:
    Path("obj.data").write_text("classes = 1\n")
    with pytest.raises(CfgError, match=r"'train = \.\.\.' line, which detector calc_anchors needs"):
        run()


def test_genetic_raises_the_average_iou_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    make({"a": boxes(*np.geomspace(0.02, 0.9, 40).round(4))})
    run(num_of_clusters=3)
    before = Path("anchors.txt").read_text()
    run(num_of_clusters=3, genetic=True)
    out, error = capsys.readouterr()
    ious = [float(line.split()[-2]) for line in out.splitlines() if line.startswith(" avg IoU")]
    assert ious[1] > ious[0]
    assert f"-genetic: 1000 mutations raise the average IoU from {ious[0]:.2f} % to {ious[1]:.2f} %." in error
    assert Path("anchors.txt").read_text() != before


@pytest.mark.parametrize(("has_display", "dont_show", "shown"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_show_draws_the_cloud(
    has_display: bool, dont_show: bool, shown: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    windows: list[str] = []
    monkeypatch.setattr(task.window, "can_show", lambda: has_display)
    monkeypatch.setattr(task.window, "show", lambda name, _: windows.append(name))
    run(show=True, dont_show=dont_show)
    assert cv2.imread("cloud.png").shape == (700, 700, 3)
    assert windows == ["clusters"] * shown
    assert ("No display: no window." in capsys.readouterr().err) == (not has_display)


def test_without_show_there_is_no_cloud() -> None:
    run()
    assert not Path("cloud.png").exists()


def test_anchors_that_cannot_be_written_are_printed_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    Path("anchors.txt").mkdir()
    with pytest.raises(DataError, match=r"file anchors\.txt can't be open"):
        run()
    assert "anchors =  42, 42, 208,208" in capsys.readouterr().out
