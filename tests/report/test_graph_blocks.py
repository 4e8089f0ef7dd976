import pytest
from sections import NET, PATH, conv, lines

from darkpy.blueprint import LayerPlan, plan_network
from darkpy.cfg.text import parse_sections
from darkpy.report.graph_blocks import into_blocks

RESIDUAL = conv(filters=4) + conv(filters=8, size=3, pad=1) + lines("shortcut", {"from": -3, "activation": "linear"})
SAME = conv(filters=8, size=3, pad=1)
DOWN = conv(filters=8, size=3, stride=2, pad=1)
YOLO = lines("yolo", {"mask": "0", "anchors": "4,5", "num": 1, "classes": 1, "jitter": 0.1, "random": 0})
HEAD = conv(filters=6) + YOLO


def route(layers: str) -> str:
    return lines("route", {"layers": layers})


def plans(layers: str) -> tuple[LayerPlan, ...]:
    content = NET.format(width=32, height=32) + layers
    return plan_network(parse_sections(content.split("\n"), str(PATH)), PATH).layers


def spans(layers: str) -> list[tuple[int, int]]:
    """The first and last layer of each block."""
    return [(block.first, block.last) for block in into_blocks(plans(layers))]


def folded(layers: str) -> list[tuple[int, int, int]]:
    """First layer, length and number of the repeated patterns of one block."""
    (block,) = into_blocks(plans(layers))
    return [
        (block.steps[repeat.first].first.index, 1 + repeat.last - repeat.first, repeat.times)
        for repeat in block.repeats
    ]


def test_a_block_ends_where_the_size_changes() -> None:
    assert spans(SAME + conv(filters=3) + DOWN + conv() + lines("upsample", {"stride": 2})) == [(0, 1), (2, 3), (4, 4)]


def test_a_head_is_a_block_of_its_own() -> None:
    assert spans(HEAD + route("0") + HEAD) == [(0, 0), (1, 1), (2, 3), (4, 4)]


def test_two_heads_one_after_the_other_are_two_blocks() -> None:
    assert spans(HEAD + YOLO) == [(0, 0), (1, 1), (2, 2)]


def test_a_route_inside_a_block_does_not_end_it() -> None:
    assert spans(SAME + conv() + route("0") + conv(filters=2) + route("-1,1")) == [(0, 4)]


def test_a_block_ends_where_the_thread_is_taken_up_elsewhere() -> None:
    assert spans(SAME + DOWN + lines("upsample", {"stride": 2}) + route("0") + SAME) == [(0, 0), (1, 1), (2, 2), (3, 4)]


def test_but_not_if_both_threads_are_joined_in_it() -> None:
    assert spans(SAME + DOWN + lines("upsample", {"stride": 2}) + route("0") + SAME + route("-1,2"))[-1] == (2, 5)


def test_squeeze_and_excitation_stays_inside_its_block() -> None:
    squeeze = lines("avgpool", {}) + conv(filters=2) + conv(filters=8) + lines("scale_channels", {"from": -4})
    assert spans(SAME + squeeze + SAME) == [(0, 5)]


def test_a_last_pool_to_one_pixel_is_a_block() -> None:
    assert spans(SAME + lines("avgpool", {}) + conv(filters=2)) == [(0, 0), (1, 2)]


def test_residual_blocks_fold() -> None:
    assert folded(SAME + 3 * RESIDUAL) == [(1, 3, 3)]


def test_equal_layers_fold() -> None:
    assert folded(conv(filters=8) + 4 * SAME) == [(1, 1, 4)]


def test_two_equal_layers_stay_two_rows() -> None:
    """A frame would take more room than it saves."""
    assert folded(conv(filters=8) + 2 * SAME) == []
    assert folded(conv(filters=8) + 3 * SAME) == [(1, 1, 3)]


def test_each_layer_is_in_one_row() -> None:
    (block,) = into_blocks(plans(SAME + 2 * RESIDUAL + conv()))
    assert [step.indices for step in block.steps] == [(0,), (1, 4), (2, 5), (3, 6), (7,)]


@pytest.mark.parametrize("other", [conv(filters=8, size=3, pad=1, activation="leaky"), conv(filters=8, size=5, pad=1)])
def test_layers_that_differ_in_one_value_do_not_fold(other: str) -> None:
    assert folded(conv(filters=8) + SAME + other) == []


def test_what_is_read_from_outside_keeps_a_row() -> None:
    """Layer 3 ends the first of three residual blocks; the route at the end reads it."""
    assert folded(SAME + 3 * RESIDUAL + route("-1,3")) == [(4, 3, 2)]


def test_the_last_of_a_repeat_may_be_read_from_outside() -> None:
    assert folded(SAME + 2 * RESIDUAL + conv(filters=8, activation="leaky") + route("-1,6")) == [(1, 3, 2)]


def test_a_skip_over_two_patterns_does_not_fold() -> None:
    skip = SAME + lines("shortcut", {"from": -4, "activation": "linear"})
    assert folded(conv(filters=8) + SAME + conv(filters=8) + skip + skip) == []
