"""Anchors (darkpy/data/anchors.py): laws, an oracle in plain loops, and cases of darknet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from darkpy.data import anchors
from darkpy.data.anchors import Clusters, Sizes, average_iou, cluster, cluster_from, evolve
from darkpy.errors import DataError

SIZE = st.floats(0.01, 2000)
SIZES = hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=SIZE)
WHOLE_SIZES = hnp.arrays(np.float64, st.tuples(st.integers(2, 40), st.just(2)), elements=st.integers(1, 12).map(float))


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def many(count: int, seed: int = 0) -> Sizes:
    """Return box sizes as a data set has them: of all scales, mostly small."""
    draw = generator(seed)
    return np.exp(draw.normal(4, 1, size=(count, 1)) + draw.normal(0, 0.4, size=(count, 2)))


def iou(a: Sizes, b: Sizes) -> float:
    """Return the IoU of two boxes that share a corner."""
    shared = min(a[0], b[0]) * min(a[1], b[1])
    return float(shared / (a[0] * a[1] + b[0] * b[1] - shared))


def plain_k_means(sizes: Sizes, centres: Sizes) -> tuple[Sizes, int]:
    """Return darknet's centres, sorted, and the number of updates, box by box."""
    if len(centres) == 1:
        return sizes.mean(axis=0, keepdims=True), 0
    centres, members, iterations = centres.copy(), [0] * len(sizes), 0
    while True:
        nearest = [max(range(len(centres)), key=lambda k, box=box: (iou(box, centres[k]), -k)) for box in sizes]
        if nearest == members:
            break
        members, iterations = nearest, iterations + 1
        for k in range(len(centres)):
            mine = [box for box, member in zip(sizes, members, strict=True) if member == k]
            if mine:
                centres[k] = sum(mine) / len(mine)
    order = sorted(range(len(centres)), key=lambda k: centres[k][0] * centres[k][1])
    return centres[order], iterations


def assert_fits(sizes: Sizes, clusters: Clusters) -> None:
    """Hold members and average IoU against the anchors."""
    ious = np.array([[iou(box, anchor) for anchor in clusters.anchors] for box in sizes])
    assert clusters.average_iou == pytest.approx(ious.max(axis=1).mean())
    assert ious[np.arange(len(sizes)), clusters.members] == pytest.approx(ious.max(axis=1))


@given(SIZES, st.integers(1, 6), st.integers(1, 3))
def test_anchors_are_positive_finite_and_rise_in_area(sizes: Sizes, count: int, restarts: int) -> None:
    count = min(count, len(sizes))
    clusters = cluster(sizes, count, generator=generator(), restarts=restarts)
    assert clusters.anchors.shape == (count, 2)
    assert np.isfinite(clusters.anchors).all()
    assert (clusters.anchors > 0).all()
    assert (np.diff(clusters.anchors.prod(axis=1)) >= 0).all()
    assert 0 < clusters.average_iou <= 1
    assert_fits(sizes, clusters)


@given(SIZES)
def test_as_many_clusters_as_sizes_fit_fully(sizes: Sizes) -> None:
    clusters = cluster(sizes, len(np.unique(sizes, axis=0)), generator=generator())
    assert clusters.average_iou == pytest.approx(1)
    assert clusters.anchors[clusters.members] == pytest.approx(sizes)


@given(SIZES, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_boxes_has_no_influence(sizes: Sizes, count: int, shuffle: object) -> None:
    count = min(count, len(sizes))
    order = list(range(len(sizes)))
    shuffle.shuffle(order)
    one = cluster(sizes, count, generator=generator(), restarts=2)
    other = cluster(sizes[order], count, generator=generator(), restarts=2)
    assert np.array_equal(one.anchors, other.anchors)
    assert np.array_equal(one.members[order], other.members)
    assert one.average_iou == other.average_iou


@given(WHOLE_SIZES, st.integers(1, 6))
def test_equal_to_plain_loops_from_the_same_centres(sizes: Sizes, count: int) -> None:
    """Whole sizes: many boxes are equally far from two centres; then the first one counts."""
    centres = sizes[: min(count, len(sizes))]
    clusters = cluster_from(sizes, centres)
    expected, iterations = plain_k_means(sizes, centres)
    assert clusters.anchors == pytest.approx(expected)
    assert clusters.iterations == iterations


@pytest.mark.slow
def test_boxes_that_are_skipped_would_keep_their_centre() -> None:
    """20,000 boxes: the result of looking at every box in every iteration is the same, update by update."""
    sizes = many(20_000)
    centres, members = sizes[:9].copy(), np.zeros(len(sizes), np.int64)
    iterations = 0
    while True:
        shared = np.minimum(centres[:, :1], sizes[:, 0]) * np.minimum(centres[:, 1:], sizes[:, 1])
        ious = shared / (centres.prod(axis=1)[:, None] + sizes.prod(axis=1) - shared)
        nearest = ious.argmax(axis=0)
        if np.array_equal(nearest, members):
            break
        members, iterations = nearest, iterations + 1
        centres = np.stack([sizes[members == k].mean(axis=0) for k in range(9)])
    clusters = cluster_from(sizes, sizes[:9])
    assert clusters.iterations == iterations > 50
    assert clusters.anchors == pytest.approx(centres[np.argsort(centres.prod(axis=1))])


@given(SIZES, st.integers(1, 5), st.integers(0, 3))
def test_evolution_is_never_worse(sizes: Sizes, count: int, seed: int) -> None:
    before = cluster(sizes, min(count, len(sizes)), generator=generator(seed))
    after = evolve(sizes, before, generator=generator(seed), generations=30)
    assert after.average_iou >= before.average_iou
    assert (np.diff(after.anchors.prod(axis=1)) >= 0).all()
    assert_fits(sizes, after)


def test_evolution_gains_where_means_are_no_best_place() -> None:
    sizes = many(500)
    before = cluster(sizes, 5, generator=generator())
    after = evolve(sizes, before, generator=generator())
    assert after.average_iou > before.average_iou + 0.01
    again = evolve(sizes, before, generator=generator())
    assert np.array_equal(after.anchors, again.anchors)


def test_evolution_without_generations_changes_nothing() -> None:
    sizes = many(50)
    before = cluster(sizes, 3, generator=generator())
    after = evolve(sizes, before, generator=generator(), generations=0)
    assert np.array_equal(after.anchors, before.anchors)
    assert after.average_iou == before.average_iou


def test_restarts_keep_the_best_draw() -> None:
    sizes = many(300)
    draw = generator(3)
    singles = [cluster(sizes, 12, generator=draw).average_iou for _ in range(10)]
    assert cluster(sizes, 12, generator=generator(3), restarts=10).average_iou == max(singles)
    assert len(set(singles)) > 1


@pytest.mark.slow
def test_of_very_many_boxes_a_sample_finds_anchors_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = many(40_000)
    found = cluster(sizes, 6, generator=generator(), restarts=3)
    better = evolve(sizes, found, generator=generator(), generations=300)
    monkeypatch.setattr(anchors, "_SAMPLE", 100_000)
    of_all = cluster(sizes, 6, generator=generator(), restarts=3)
    assert found.average_iou == pytest.approx(of_all.average_iou, abs=0.002)
    assert better.average_iou > found.average_iou + 0.02
    assert len(found.members) == len(better.members) == 40_000


def test_an_evolution_that_a_small_sample_misleads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = many(500)
    before = cluster(sizes, 5, generator=generator())
    monkeypatch.setattr(anchors, "_SAMPLE", 5)
    after = evolve(sizes, before, generator=generator(), generations=300)
    assert after is before


def test_g06_two_sizes_and_two_clusters() -> None:
    """G06: three boxes of 41.6 pixels and three of 208; darknet misses it when it draws two equal ones."""
    sizes = np.repeat([[41.6, 41.6], [208.0, 208.0]], 3, axis=0)
    clusters = cluster(sizes, 2, generator=generator())
    assert clusters.anchors == pytest.approx(np.array([[41.6, 41.6], [208, 208]]))
    assert clusters.average_iou == 1
    assert clusters.members.tolist() == [0, 0, 0, 1, 1, 1]


def test_one_cluster_is_the_mean_without_an_iteration() -> None:
    clusters = cluster(np.array([[10.0, 20.0], [30.0, 60.0]]), 1, generator=generator())
    assert clusters.anchors.tolist() == [[20, 40]]
    assert clusters.iterations == 0


def test_fewer_sizes_than_clusters_give_equal_anchors() -> None:
    clusters = cluster(np.full((6, 2), 7.0), 3, generator=generator())
    assert clusters.anchors.tolist() == [[7, 7]] * 3
    assert clusters.average_iou == 1


def test_a_centre_without_boxes_stays() -> None:
    sizes = np.array([[10.0, 10.0], [12.0, 12.0], [11.0, 11.0]])
    clusters = cluster_from(sizes, np.array([[10.0, 10.0], [500.0, 500.0]]))
    assert clusters.anchors.tolist() == [[10, 10], [500, 500]]
    assert clusters.iterations == 0, "all boxes are with the first centre, as before the first look"


def test_more_clusters_than_boxes() -> None:
    with pytest.raises(DataError, match="only 2 boxes for 3 clusters"):
        cluster(np.full((2, 2), 5.0), 3, generator=generator())


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_sizes_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(ValueError, match="not above 0 and finite"):
        cluster(np.array([[5.0, 5.0], [5.0, value]]), 1, generator=generator())


@pytest.mark.parametrize(("clusters", "restarts"), [(0, 1), (1, 0)])
def test_numbers_must_be_at_least_1(clusters: int, restarts: int) -> None:
    with pytest.raises(ValueError, match="both must be at least 1"):
        cluster(np.full((2, 2), 5.0), clusters, generator=generator(), restarts=restarts)


def test_the_average_iou_of_any_anchors_is_that_of_the_best_for_each_box() -> None:
    sizes, given_anchors = many(200), many(7, seed=3)
    expected = np.mean([max(iou(box, anchor) for anchor in given_anchors) for box in sizes])
    assert average_iou(sizes, given_anchors) == pytest.approx(expected)
    found = cluster(sizes, 4, generator=generator())
    assert average_iou(sizes, found.anchors) == pytest.approx(found.average_iou)
