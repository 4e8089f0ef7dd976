import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.data.drawn import MAX_SHAPES, NAMES, SIDE, draw_picture, main, write_data_set
from darkpy.data.index import label_path, read_image_list
from darkpy.data.labels import read_labels


def test_equal_seeds_draw_equal_pictures() -> None:
    first, second, other = (draw_picture(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first.image, second.image)
    assert np.array_equal(first.truths, second.truths)
    assert not np.array_equal(first.image, other.image)


def test_boxes_lie_in_the_picture_and_fit_their_shapes() -> None:
    random = np.random.default_rng(0)
    truths = np.concatenate([draw_picture(random).truths for _ in range(40)])
    centres, sizes = truths[:, :2], truths[:, 2:4]
    assert (centres - sizes / 2 > 0).all()
    assert (centres + sizes / 2 < 1).all()
    assert (sizes * SIDE >= 14).all()
    assert set(truths[:, 4]) == {0, 1, 2}
    circles = sizes[truths[:, 4] == 0]
    assert circles[:, 0] == pytest.approx(circles[:, 1], rel=0.01)


def test_a_picture_has_1_to_5_shapes_that_hardly_overlap() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        truths = draw_picture(random).truths
        assert 1 <= len(truths) <= MAX_SHAPES
        for a, b in itertools.combinations(truths, 2):
            low = np.maximum(a[:2] - a[2:4] / 2, b[:2] - b[2:4] / 2)
            high = np.minimum(a[:2] + a[2:4] / 2, b[:2] + b[2:4] / 2)
            shared = np.prod((high - low).clip(0))
            assert shared / (np.prod(a[2:4]) + np.prod(b[2:4]) - shared) <= 0.05


def test_the_data_set_is_one_that_darkpy_reads(tmp_path: Path) -> None:
    data = read_datafile(write_data_set(tmp_path / "out dir", train=4, valid=2))
    assert data.notes == ()
    assert data.integer("classes") == 3
    assert tuple(read_names(data.required("names", purpose="the test"))) == NAMES
    assert data.required("backup", purpose="the test").is_dir()
    for key, count in (("train", 4), ("valid", 2)):
        paths = read_image_list(data.required(key, purpose="the test"))
        assert len(paths) == count
        for path in paths:
            assert cv2.imread(path).shape == (SIDE, SIDE, 3)
            labels = read_labels(label_path(path), classes=3)
            assert len(labels.truths) >= 1
            assert labels.problems == ()


def test_the_command_prints_the_data_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path), "--train", "1", "--valid", "1"])
    assert Path(capsys.readouterr().out.strip()) == tmp_path.resolve() / "shapes.data"
