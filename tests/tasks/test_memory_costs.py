"""What is recorded of a darknet network is what training it takes."""

from pathlib import Path

import pytest
import torch
from kept_bytes import counted
from sections import NET, conv, lines

from darkpy.blueprint import Blueprint, plan_network
from darkpy.cfg.text import parse_sections
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.layers._base import StepKey
from darkpy.memory.costs import Linear
from darkpy.memory.suffix import Suffix
from darkpy.network import Network
from darkpy.tasks._memory_costs import Size, inference_trace, training_costs

HEAD = {"mask": "0,1", "anchors": "4,4, 8,8", "classes": 3, "num": 2, "jitter": 0.1}
SIZE = Size(96, 64)


def blueprint(extra: str = "", net: str = "") -> Blueprint:
    layers = (
        conv(filters=16, size=3, pad=1, batch_normalize=1, activation="leaky")
        + lines("maxpool", {"size": 2, "stride": 2})
        + conv(filters=16, size=3, pad=1, batch_normalize=1, activation="mish")
        + lines("shortcut", {"from": -2, "activation": "linear"})
        + extra
        + conv(filters=16)
        + lines("yolo", HEAD)
    )
    text = NET.format(width=64, height=64) + net + layers
    return plan_network(parse_sections(text.split("\n"), "x.cfg"), Path("x.cfg"))


def kept_for_real(plan: Blueprint, tier: int, images: int) -> tuple[int, int]:
    network, suffix = Network(plan), Suffix(tight=False)
    DarknetUpdate(network)
    network.begin(StepKey(0, 0, 0))
    for _ in range(2):
        with counted(network, tier, suffix) as (stays, away):
            outputs = network(torch.rand(images, 3, SIZE.height, SIZE.width))
        del outputs
    return sum(stays.values()), sum(away.values())


@pytest.mark.parametrize("tier", [0, 1, 2, 3])
def test_kept_bytes_are_those_of_a_real_step(tier: int) -> None:
    plan = blueprint()
    (costs,) = training_costs(plan, SIZE, batch=64, tiers=(tier,)).tiers
    assert (costs.trace.saved.at(4), costs.trace.offloaded.at(4)) == kept_for_real(plan, tier, 4)


def test_dropout_grows_with_the_mini_batch() -> None:
    plan = blueprint(lines("dropout", {"probability": 0.5}))
    (costs,) = training_costs(plan, SIZE, batch=64, tiers=(0,)).tiers
    assert (costs.trace.saved.at(4), 0) == kept_for_real(plan, 0, 4)


def test_states_are_weights_statistics_and_momentum() -> None:
    costs = training_costs(blueprint(), SIZE, batch=64, tiers=(0,))
    weights = 16 * 27 + 16 * 16 * 9 + 16 * 16 + 3 * 16 + 2 * 16
    assert costs.states.parameters == 4 * weights
    assert costs.states.statistics == 4 * 4 * 16
    assert costs.states.momentum == 4 * weights
    assert costs.states.average == 0
    assert costs.largest_gradient == 4 * 16 * 16 * 9
    assert costs.batch == 64


def test_adam_and_the_average_take_more() -> None:
    plain = training_costs(blueprint(), SIZE, batch=64, tiers=(0,)).states
    more = training_costs(blueprint(net="adam=1\nema_alpha=0.99\n"), SIZE, batch=64, tiers=(0,)).states
    assert more.momentum == 3 * plain.momentum
    assert more.average == plain.parameters


def test_the_loss_is_counted_while_all_activations_are_there() -> None:
    (tier,) = training_costs(blueprint(), SIZE, batch=64, tiers=(0,)).tiers
    live = tier.trace.live(8)
    before = live[tier.trace.forward - 10 : tier.trace.forward]
    assert max(before) > tier.trace.saved.at(8) + 2 * 8 * 16 * 32 * 48 * 4  # two of the head's inputs more, at least


def test_frozen_layers_keep_nothing() -> None:
    plan = blueprint(net="")
    whole = training_costs(plan, SIZE, batch=64, tiers=(0,))
    frozen = training_costs(blueprint(lines("maxpool", {"size": 1, "stride": 1, "stopbackward": 1})), SIZE, batch=64)
    assert frozen.tiers[0].trace.saved.image < whole.tiers[0].trace.saved.image / 4
    assert frozen.states.momentum == 4 * (16 * 16 + 16)


def test_detection_needs_the_weights_and_the_largest_live_set() -> None:
    """Layer 0 makes 16 channels of all pixels; its activation is written over them."""
    weights, trace = inference_trace(blueprint(), SIZE)
    first, picture = 16 * 96 * 64 * 4, 3 * 96 * 64 * 4
    assert weights == 4 * (16 * 27 + 16 * 16 * 9 + 16 * 16 + 3 * 16 + 4 * 16 + 2 * 16)
    assert first + picture <= trace.peak(1) < 3 * first
    assert trace.saved == trace.offloaded == Linear()


@pytest.mark.parametrize("last", [lines("softmax", {}), lines("cost", {"type": "sse"})], ids=["softmax", "cost"])
def test_a_classifier_is_planned_with_its_own_loss(last: str) -> None:
    text = NET.format(width=64, height=64) + conv(filters=16, size=3, pad=1) + lines("avgpool", {}) + last
    plan = plan_network(parse_sections(text.split("\n"), "x.cfg"), Path("x.cfg"))
    (tier,) = training_costs(plan, SIZE, batch=8, tiers=(0,)).tiers
    output = 16 * 96 * 64 * 4
    assert output < tier.trace.peak(2) / 2 < 6 * output
