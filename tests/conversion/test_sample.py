from pathlib import Path

from darkpy.conversion.sample import Tally, make_sample


def test_a_sample_without_objects_has_empty_arrays() -> None:
    sample = make_sample(Path("a.jpg"), (0, 0), [])
    assert (sample.classes.shape, sample.edges.shape, sample.apart.shape) == ((0,), (0, 4), (0,))


def test_a_tally_counts_and_keeps_the_first_place() -> None:
    tally = Tally()
    tally.add("dogs", "a.xml")
    tally.add("cats", "b.xml", 0)
    tally.add("dogs", "c.xml", 2)
    assert tally.lines() == ["dogs: 3 (first: a.xml)"]
    assert (tally["dogs"], tally["cats"]) == (3, 0)
