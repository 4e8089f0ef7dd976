"""The walk through a network (darkpy/network.py)."""

import weakref
from pathlib import Path

import pytest
import sections
import torch
from sections import conv, lines, network
from torch import nn

from darkpy.errors import CfgError
from darkpy.layers._base import StepKey
from darkpy.layers.convolutional import Convolution
from darkpy.network import Network

YOLO = lines("yolo", {"classes": 1, "num": 2, "mask": "0,1", "anchors": "4,4,6,3", "jitter": 0.1})
HEAD = conv(filters=12) + YOLO
BN = {"batch_normalize": 1, "activation": "leaky"}
TRUTHS = torch.tensor([[[0.4, 0.6, 0.3, 0.4, 0.0]], [[0.7, 0.3, 0.5, 0.2, 0.0]]])


def outputs(made: Network, images: torch.Tensor) -> dict[int, torch.Tensor]:
    return {index: output.clone() for index, output in made.walk(images)}


def gradients(made: Network, index: int) -> torch.Tensor | None:
    return made.layers[index].weight.grad  # type: ignore[return-value]


# --- outputs ----------------------------------------------------------------------------------------------------------


class Noted(nn.Module):
    """A layer that notes its output, weakly, and which of all noted outputs live when it starts."""

    def __init__(self, module: nn.Module, noted: list["weakref.ref[torch.Tensor]"], alive: list[set[int]]) -> None:
        super().__init__()
        self.module, self.noted, self.alive = module, noted, alive

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        self.alive.append({index for index, output in enumerate(self.noted) if output() is not None})
        output = self.module(*inputs)
        self.noted.append(weakref.ref(output))
        return output


def test_an_output_is_freed_after_its_last_reader() -> None:
    layers = conv(filters=2) * 4 + lines("route", {"layers": 1}) + conv(filters=2) + lines("shortcut", {"from": -2})
    made = network(layers + conv(filters=2)).eval()
    noted: list[weakref.ref[torch.Tensor]] = []
    alive: list[set[int]] = []
    made.layers = nn.ModuleList(Noted(module, noted, alive) for module in made.layers)
    with torch.no_grad():
        result = made(sections.images(1, 3, 8, 8))
    # Layer 1 waits for the route, which hands on the same tensor, for the shortcut; layer 3 is read by nobody.
    assert alive[:5] == [set(), {0}, {1}, {1, 2}, {1, 3}]
    assert alive[5:] == [{1, 4}, {1, 4, 5}, {6}]
    assert list(result) == [7]


def test_walk_yields_every_layer_in_order() -> None:
    made = network(conv(filters=2) * 3 + HEAD).eval()
    found = [(index, output.shape[1]) for index, output in made.walk(sections.images(2, 3, 8, 8))]
    assert found == [(0, 2), (1, 2), (2, 2), (3, 12), (4, 12)]


def test_forward_gives_all_heads_or_else_the_last_layer() -> None:
    images = sections.images(1, 3, 8, 8)
    two = HEAD + lines("route", {"layers": 0}) + HEAD
    assert list(network(two)(images)) == [1, 4]
    assert list(network(conv(filters=2) * 3)(images)) == [2]


def test_a18_route_0_is_the_output_of_layer_0() -> None:
    """A18: not of layer 5, not the picture."""
    made = network("".join(conv(filters=n) for n in range(1, 6)) + lines("route", {"layers": 0})).eval()
    found = outputs(made, sections.images(1, 3, 8, 8))
    assert torch.equal(found[5], found[0])


def test_a34_a_maxpool_ignores_what_is_outside() -> None:
    """A34: in a network, on the row [-3, -1]."""
    made = network(conv() + lines("maxpool", {"size": 2, "stride": 1}), width=2, height=1).eval()
    first = made.layers[0]
    assert isinstance(first, Convolution)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1))
        first.bias.zero_()
    images = torch.zeros(1, 3, 1, 2)
    images[0, 0] = torch.tensor([[-3.0, -1.0]])
    assert made(images)[1].flatten().tolist() == [-1.0, -1.0]


def test_e12_a_wide_network_has_a_wide_grid() -> None:
    """E12: 800x416 at stride 32 is 25x13, and a box of column 24 stands at the right."""
    made = network(conv(filters=1, size=32, stride=32) + HEAD, width=800, height=416).eval()
    assert made.blueprint.layers[2].output[1:] == (13, 25)
    found = made(torch.zeros(1, 3, 416, 800))[2]
    assert found.shape == (1, 12, 13, 25)
    found = torch.full_like(found, -9.0)
    found[0, :5, 12, 24] = torch.tensor([0.5, 0.5, 0.0, 0.0, 1.0])
    boxes, objectness, _ = made.head(2).boxes(found, (800, 416))
    row = objectness[0].argmax()
    assert boxes[0, row].tolist() == pytest.approx([24.5 / 25, 12.5 / 13, 4 / 800, 4 / 416], rel=1e-5)


def test_another_size_is_the_same_network() -> None:
    """Multi-scale training: weights, sources and heads stay, only the grid grows."""
    layers = conv(filters=4, size=3, pad=1, stride=2, **BN) + conv(filters=4, **BN) + lines("upsample", {"stride": 2})
    made = network(layers + lines("maxpool", {"size": 2, "stride": 2}) + lines("route", {"layers": "-1,0"}) + HEAD)
    larger = network(
        layers + lines("maxpool", {"size": 2, "stride": 2}) + lines("route", {"layers": "-1,0"}) + HEAD,
        width=24,
        height=16,
    )
    images = sections.images(2, 3, 16, 24)
    assert torch.equal(made.eval()(images)[6], larger.eval()(images)[6])
    assert made.train().head_losses(made(images), TRUTHS, (24, 16))[6].delta.shape == (2, 12, 8, 12)


@pytest.mark.parametrize("name", ["a.cfg", "yolov3-x.cfg"])
def test_a37_results_do_not_depend_on_the_file_name(name: str) -> None:
    """A37: some tools take strides and anchors from it."""
    images = sections.images(1, 3, 8, 8)
    plain = network(HEAD, path=Path("yolov4-tiny.cfg")).eval()(images)
    assert torch.equal(network(HEAD, path=Path(name)).eval()(images)[1], plain[1])


# --- dropout ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropouts", [1, 2])
def test_dropout_changes_what_every_reader_of_the_layer_before_sees(dropouts: int) -> None:
    """darknet's works in place, through several of them too."""
    made = network(conv(filters=8) + lines("dropout", {"probability": 0.5}) * dropouts + lines("route", {"layers": 0}))
    made.train().begin(StepKey(seed=1, iteration=0, first_row=0))
    found = outputs(made, sections.images(2, 3, 8, 8))
    zeros = found[dropouts] == 0
    assert zeros.any()
    assert not zeros.all()
    assert torch.equal(found[dropouts + 1], found[dropouts])


def test_dropout_behind_a_route_leaves_the_routed_layer_alone() -> None:
    layers = conv(filters=8) + lines("route", {"layers": 0}) + lines("dropout", {"probability": 0.5})
    found = outputs(network(layers + lines("route", {"layers": 0})).train(), sections.images(2, 3, 8, 8))
    assert torch.equal(found[3], found[0])
    assert (found[2] == 0).any()


def test_begin_decides_on_the_draws() -> None:
    made = network(conv(filters=8) + lines("dropout", {"probability": 0.5})).train()
    images = sections.images(2, 3, 8, 8)
    keys = [StepKey(1, 4, 0), StepKey(1, 5, 0), StepKey(1, 4, 0)]
    results = []
    for key in keys:
        made.begin(key)
        results.append(made(images)[1])
    assert torch.equal(results[0], results[2])
    assert not torch.equal(results[0], results[1])


# --- stopbackward -----------------------------------------------------------------------------------------------------


def test_stopbackward_1_freezes_the_layers_before_it() -> None:
    """They get no gradient and their statistics stand still; the layer itself gets none but its statistics move."""
    made = network(conv(filters=4, **BN) * 2 + conv(filters=4, stopbackward=1, **BN) + conv(filters=4, **BN) + HEAD)
    assert made.updated_from == 2
    before = [module.rolling_mean.clone() for module in made.layers[:4]]
    made.train().losses(sections.images(2, 3, 8, 8), TRUTHS, completed_iterations=5000)
    moved = [not torch.equal(module.rolling_mean, old) for module, old in zip(made.layers, before, strict=False)]
    assert moved == [False, False, True, True]
    assert [gradients(made, index) is not None for index in range(5)] == [False, False, False, True, True]


def test_a39_stopbackward_n_holds_until_iteration_n() -> None:
    """A39: 800 in layer 2: layers 0 to 2 get no gradient in iterations 0 to 799, then all train. Statistics move."""
    made = network(conv(filters=4, **BN) * 2 + conv(filters=4, stopbackward=800, **BN) + HEAD)
    images = sections.images(2, 3, 8, 8)
    assert made.updated_from == 0
    assert [made.stopped_at(done) for done in (0, 799, 800, 5000)] == [2, 2, -1, -1]
    before = made.layers[0].rolling_mean.clone()
    made.train().losses(images, TRUTHS, completed_iterations=799)
    assert not torch.equal(made.layers[0].rolling_mean, before)
    assert [gradients(made, index) is not None for index in range(4)] == [False, False, False, True]
    made.losses(images, TRUTHS, completed_iterations=800)
    assert all(gradients(made, index) is not None for index in range(4))


def test_the_last_stopbackward_counts() -> None:
    made = network(conv(filters=4, stopbackward=1) + conv(filters=4, stopbackward=300) + conv(filters=4) + HEAD)
    assert [made.stopped_at(done) for done in (0, 300)] == [1, 0]
    assert network(HEAD).stopped_at(0) == -1


def test_a_frozen_head_still_gives_its_loss() -> None:
    """Only convolutions go to inference mode: a head before the stop takes the loss of its raw input."""
    text = HEAD + lines("route", {"layers": 0}) + "{}" + HEAD
    frozen = network(text.format(conv(filters=4, stopbackward=1))).train()
    free = network(text.format(conv(filters=4))).train()
    images = sections.images(2, 3, 8, 8)
    found, expected = (made.losses(images, TRUTHS) for made in (frozen, free))
    assert list(found) == [1, 5]
    assert torch.equal(found[1].delta, expected[1].delta)
    assert gradients(frozen, 0) is None


def test_everything_frozen_is_no_error() -> None:
    made = network(conv(filters=12) + YOLO + lines("route", {"layers": 0}) + conv(filters=12, stopbackward=1) + YOLO)
    made.train().losses(sections.images(2, 3, 8, 8), TRUTHS)
    assert gradients(made, 0) is None
    assert gradients(made, 3) is None


# --- losses and detections --------------------------------------------------------------------------------------------


def test_gradients_are_minus_delta_and_add_up() -> None:
    made = network(HEAD).train()
    images = sections.images(2, 3, 8, 8)
    (found,) = made.head_losses(made(images), TRUTHS, (8, 8)).values()
    expected = -torch.einsum("bohw,bihw->oi", found.delta, images)
    made.losses(images, TRUTHS)
    first = gradients(made, 0)
    assert first is not None
    torch.testing.assert_close(first[:, :, 0, 0], expected, rtol=1e-4, atol=1e-5)
    once = first.clone()
    made.losses(images, TRUTHS)
    torch.testing.assert_close(gradients(made, 0), 2 * once)


def test_mini_batches_add_up_to_the_batch() -> None:
    """Without batch norm, two passes of one image give the gradient of one pass of two."""
    images = sections.images(2, 3, 8, 8)
    whole, halves = (network(conv(filters=4, activation="leaky") + HEAD).train() for _ in range(2))
    whole.losses(images, TRUTHS)
    for row in range(2):
        halves.losses(images[row : row + 1], TRUTHS[row : row + 1])
    for one, other in zip(whole.parameters(), halves.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


def test_detections_are_those_above_the_threshold() -> None:
    made = network(HEAD).eval()
    images = sections.images(2, 3, 8, 8)
    everything = made.detect(images, -1.0)
    assert [len(found) for found in everything] == [8 * 8 * 2] * 2
    threshold = everything[0].objectness.median().item()
    for whole, found in zip(everything, made.detect(images, threshold), strict=True):
        keep = whole.objectness > threshold
        assert torch.equal(found.boxes, whole.boxes[keep])  # in the same order
        assert torch.equal(found.objectness, whole.objectness[keep])
        kept = whole.probabilities[keep]
        assert torch.equal(found.probabilities, torch.where(kept > threshold, kept, torch.zeros_like(kept)))


def test_an_objectness_at_the_threshold_is_no_detection() -> None:
    made = network(HEAD).eval()
    images = sections.images(1, 3, 8, 8)
    highest = made.detect(images, -1.0)[0].objectness.max().item()
    assert len(made.detect(images, highest)[0]) == 0


def test_heads_follow_each_other() -> None:
    made = network(HEAD + lines("route", {"layers": 0}) + lines("maxpool", {"size": 2, "stride": 2}) + HEAD).eval()
    images = sections.images(1, 3, 8, 8)
    (found,) = made.detect(images, -1.0)
    assert len(found) == 8 * 8 * 2 + 4 * 4 * 2
    second = made.head(5).boxes(made(images)[5], (8, 8))
    assert torch.equal(found.boxes[8 * 8 * 2 :], second[0][0])


def test_fused_equals_unfused() -> None:
    layers = conv(filters=8, size=3, pad=1, **BN) + conv(
        filters=8, size=3, pad=1, groups=2, **{**BN, "activation": "mish"}
    )
    made = network(layers + conv(filters=8, activation="swish") + HEAD).eval()
    images = sections.images(2, 3, 8, 8)
    with torch.no_grad():
        before = made(images)[4]
        made.fuse()
        after = made(images)[4]
    assert not any(module.is_normalized for module in made.layers if isinstance(module, Convolution))
    assert (after - before).abs().max().item() <= 1e-5 * before.abs().max().item()


# --- facts ------------------------------------------------------------------------------------------------------------


def test_the_last_head_decides() -> None:
    other = lines("yolo", {"classes": 1, "num": 2, "anchors": "4,4,6,3", "nms_kind": "greedynms", "beta_nms": 0.7})
    made = network(HEAD + lines("route", {"layers": 0}) + other)
    assert made.detection_layers == ((1, 28), (3, 28))
    assert made.classes == 1
    assert (made.nms_rule.kind, made.nms_rule.beta) == ("greedynms", 0.7)
    assert made.last_head is made.head(3)


def test_a_network_without_a_head_cannot_detect() -> None:
    made = network(conv())
    assert made.detection_layers == ()
    line = r"x\.cfg: the network has no detection layer\. Add \[yolo\] after the last convolution\."
    with pytest.raises(CfgError, match=line):
        made.last_head  # noqa: B018  # a property that raises
