"""[dropout]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, StepKey
from darkpy.layers._dropblock import block_mask
from darkpy.layers.dropout import Dropout, DropoutSpec

EXAMPLE = ({"probability": 0.3}, (Shape(3, 4, 5),))
KEY = StepKey(seed=3, iteration=7, first_row=4)


def dropped(x: torch.Tensor, key: StepKey = KEY, *, probability: float = 0.3, index: int = 5) -> torch.Tensor:
    module = Dropout(probability, index)
    module.begin(key)
    return module(x)


def test_outside_training_nothing_happens() -> None:
    x = sections.images(1, 3, 4, 5)
    assert Dropout(0.9, 0).eval()(x) is x


def test_kept_values_are_scaled_up() -> None:
    values = dropped(torch.full((1, 100, 10, 10), 2.0)).unique().tolist()
    assert values == pytest.approx([0.0, 2 / 0.7])


def test_the_share_of_zeros_is_the_probability() -> None:
    """10,000 draws: 4 standard deviations are 0.018."""
    zeros = (dropped(torch.ones(1, 100, 10, 10)) == 0).float().mean().item()
    assert zeros == pytest.approx(0.3, abs=0.018)


def test_probability_0_changes_nothing() -> None:
    x = sections.images(1, 3, 4, 5)
    assert torch.equal(dropped(x, probability=0.0), x)


def test_gradients_have_the_same_mask_and_factor() -> None:
    x = torch.ones(1, 3, 4, 5, requires_grad=True)
    output = dropped(x)
    output.sum().backward()
    assert torch.equal(x.grad, output)  # type: ignore[arg-type]


def test_the_mask_of_an_image_does_not_depend_on_how_a_batch_is_cut() -> None:
    x = torch.ones(4, 3, 4, 5)
    halves = [dropped(x[:2]), dropped(x[2:], StepKey(seed=3, iteration=7, first_row=6))]
    assert torch.equal(dropped(x), torch.cat(halves))


@pytest.mark.parametrize(
    "other", [StepKey(4, 7, 4), StepKey(3, 8, 4), StepKey(3, 7, 5)], ids=["seed", "iteration", "row"]
)
def test_other_keys_draw_other_masks(other: StepKey) -> None:
    x = torch.ones(1, 3, 8, 8)
    assert torch.equal(dropped(x), dropped(x))
    assert not torch.equal(dropped(x), dropped(x, other))


def test_two_layers_draw_different_masks() -> None:
    x = torch.ones(1, 3, 8, 8)
    assert not torch.equal(dropped(x, index=5), dropped(x, index=6))


def test_nothing_else_random_is_touched() -> None:
    state = torch.get_rng_state()
    dropped(torch.ones(1, 3, 8, 8))
    assert torch.equal(state, torch.get_rng_state())


def test_the_row_of_the_table() -> None:
    source = (Shape(32, 32, 32),)
    row = sections.spec("dropout", {"probability": 0.3}).row(source, source[0])
    assert row == "dropout    p = 0.300        32768  ->   32768"


def blocks(**values: object) -> tuple[DropoutSpec, list[str]]:
    options = sections.options("dropout", {"probability": 0.3, "dropblock": 1, **values})
    return DropoutSpec.parse(options), options.notes


def block_module(iteration: int, **values: object) -> Dropout:
    module = blocks(**values)[0].build([Shape(50, 10, 12)])
    assert isinstance(module, Dropout)
    module.max_batches = 100
    module.begin(StepKey(seed=3, iteration=iteration, first_row=4))
    return module


@pytest.mark.parametrize(
    ("values", "iteration", "probability", "size"),
    [
        ({"dropblock_size_abs": 4}, 0, 0.0, 1),
        ({"dropblock_size_abs": 4}, 34, 0.3 * 0.4, 1),
        ({"dropblock_size_abs": 4}, 68, 0.3 * 0.8 / 9, 3),
        ({"dropblock_size_abs": 4}, 85, 0.3 / 16, 4),
        ({"dropblock_size_abs": 4}, 99, 0.3 / 16, 4),
        ({"dropblock_size_rel": 0.5}, 99, 0.3 / 25, 5),  # of 12x10: the smaller of 6 and 5
        ({"dropblock_size_abs": 40}, 99, 0.3 / 100, 10),
        ({}, 99, 0.3 / 49, 7),
        ({"dropblock_size_abs": 2, "dropblock_size_rel": 0.5}, 99, 0.3 / 4, 2),
    ],
)
def test_blocks_grow_until_near_the_end(
    values: dict[str, object], iteration: int, probability: float, size: int
) -> None:
    rule = block_module(iteration, **values).blocks
    assert rule is not None
    assert rule.at(iteration, 100, 10, 12) == (pytest.approx(probability), size)


def test_a_channel_has_one_block_at_most_and_its_image_is_scaled_up() -> None:
    output = block_module(99, dropblock_size_abs=4)(torch.ones(3, 50, 10, 12))
    for image in output:
        zeros = image == 0
        counts = zeros.sum((1, 2))
        assert set(counts.tolist()) == {0, 16}  # of 120 pixels each a candidate at 1 in 53: 9 of 10 channels
        for channel in zeros[counts > 0]:
            rows, columns = channel.nonzero(as_tuple=True)
            assert (rows.max() - rows.min(), columns.max() - columns.min()) == (3, 3)
        expected = 1 / (1 - counts.sum().item() / image.numel())
        assert image[~zeros].unique().tolist() == pytest.approx([expected])


def test_a_block_begins_at_the_smallest_number_and_is_moved_inside() -> None:
    draws = torch.full((1, 2, 4, 5), 0.9)
    draws[0, 0, 1, 2], draws[0, 0, 0, 0] = 0.1, 0.2
    draws[0, 1, 3, 4] = 0.1  # room is 2 rows and 3 columns: row 3 - 2 = 1, column 4 - 3 = 1
    mask = block_mask(draws, 0.3, 2)
    kept = pytest.approx(40 / 32)
    expected = [[[1.0] * 5 for _ in range(4)] for _ in range(2)]
    for channel, top, left in ((0, 1, 2), (1, 1, 1)):
        for row in (top, top + 1):
            expected[channel][row][left : left + 2] = [0.0, 0.0]
    for ours, theirs in zip(mask.flatten().tolist(), torch.tensor(expected).flatten().tolist(), strict=True):
        assert ours == (kept if theirs else 0.0)


def test_without_candidates_nothing_is_dropped() -> None:
    assert torch.equal(block_mask(torch.full((1, 2, 3, 3), 0.5), 0.5, 2), torch.ones(1, 2, 3, 3))


def test_a_network_tells_how_long_the_training_is() -> None:
    network = sections.network(sections.conv() + "[dropout]\ndropblock=1\n")
    assert network.layers[1].max_batches == 10


def test_sizes_that_do_not_count_are_told() -> None:
    assert blocks()[1] == ["x.cfg:12: [dropout] no block size is given: dropblock_size_abs=7."]
    assert blocks(dropblock_size_abs=2, dropblock_size_rel=0.5)[1] == [
        "x.cfg:14: [dropout] dropblock_size_rel is ignored: dropblock_size_abs=2 counts."
    ]


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ({"dropblock_size_abs": 7}, "dropblock    p = 0.300   l.dropblock_size_abs = 7    32768  ->   32768"),
        ({"dropblock_size_rel": 0.25}, "dropblock    p = 0.300   l.dropblock_size_rel = 0.25    32768  ->   32768"),
    ],
)
def test_the_row_of_dropblock(values: dict[str, object], row: str) -> None:
    source = Shape(32, 32, 32)
    assert blocks(**values)[0].row((source,), source) == row


def test_something_must_be_kept() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[dropout\] probability=1: must be below 1\. Set 0\.5 or the like"):
        sections.spec("dropout", {"probability": 1})


def test_a_probability_is_not_negative() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[dropout\] probability=-1: must be at least 0\."):
        sections.spec("dropout", {"probability": -1})
