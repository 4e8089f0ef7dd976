"""Matching by COCO's rules (darkpy/evaluation/coco_matching.py)."""

import numpy as np

from darkpy.evaluation.coco_matching import Group, iou_px, match_groups, outside_areas


def test_iou_in_pixels() -> None:
    a = np.array([[0.0, 0.0, 10.0, 10.0]])
    b = np.array([[0.0, 0.0, 10.0, 5.0], [10.0, 0.0, 5.0, 5.0], [2.0, 3.0, -1.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    assert iou_px(a, b).tolist() == [[0.5, 0.0, 0.0, 0.0]]


def test_limits_belong_to_both_areas() -> None:
    outside = outside_areas(np.array([-1.0, 100.0, 1024.0, 9216.0, 20000.0]))
    assert (~outside).astype(int).tolist() == [[0, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]


def group(overlaps: list[list[float]], *, outside: list[bool] | None = None, first: int = 0) -> Group:
    table = np.array(overlaps)
    flags = np.zeros((4, table.shape[1]), dtype=np.bool_)
    flags[1] = outside if outside else False
    return Group(np.arange(first, first + len(table)), table, flags)


def hits(*groups: Group, area: int = 0) -> list[list[bool]]:
    """Return by record whether it hit at IoU 0.50 and at 0.75."""
    matched = match_groups(groups)
    return matched.hits[np.argsort(matched.records)][:, area][:, [0, 5]].tolist()


def test_a_better_detection_takes_the_truth_first() -> None:
    assert hits(group([[0.8], [0.9]])) == [[True, True], [False, False]]


def test_each_takes_the_nearest_of_those_left() -> None:
    assert hits(group([[0.6, 0.8], [0.55, 0.9]])) == [[True, True], [True, False]]


def test_of_equal_overlaps_the_last_truth_counts() -> None:
    assert hits(group([[0.8, 0.8], [0.0, 0.9]])) == [[True, True], [False, False]]


def test_a_truth_of_the_area_goes_before_a_nearer_one_of_another() -> None:
    both = group([[0.6, 0.9]], outside=[False, True])
    assert hits(both, area=1) == [[True, False]]
    matched = match_groups([both])
    assert matched.spared[0, 1, [0, 5]].tolist() == [False, True]  # at 0.75 only the other one is near enough


def test_groups_of_all_sizes_together_are_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    groups, first = [], 0
    for truths in (1, 2, 3, 5, 9, 17):
        for detections in (1, 4, 8):
            groups.append(group(rng.uniform(0.3, 1, (detections, truths)).tolist(), first=first))
            first += detections
    together = match_groups(groups)
    order = np.argsort(together.records)
    alone = [match_groups([one]) for one in groups]
    assert np.array_equal(together.hits[order], np.concatenate([one.hits for one in alone]))


def test_no_groups() -> None:
    assert match_groups([]).hits.shape == (0, 4, 10)
