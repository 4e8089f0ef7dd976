from pathlib import Path

import golden
import torch

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.network import Network, plan_network

IMAGES = 8


def network(**net: object) -> Network:
    layers = [golden.conv(4), golden.conv(6, learning_rate=0.5), golden.output(), golden.yolo()]
    return Network(plan_network(golden.sections(golden.with_net(net, layers)), Path("case.cfg")))


def give_gradients(net: Network, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator) * IMAGES


def test_equal_batches_give_torchs_sgd() -> None:
    """Decay on convolution weights alone, a factor for the second layer's rate, momentum in both."""
    torch.manual_seed(0)
    ours = network(momentum=0.9, decay=0.01)
    theirs = network()
    theirs.load_state_dict(ours.state_dict())
    update = DarknetUpdate(ours)
    groups = [
        {"params": [parameter], "weight_decay": 0.01 if name.endswith("weight") else 0.0, "lr": 0.1 * factor}
        for name, parameter in theirs.named_parameters()
        for factor in [0.5 if name.startswith("layers.1.") else 1.0]
    ]
    reference = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    for step in range(5):
        give_gradients(ours, step)
        give_gradients(theirs, step)
        for parameter in theirs.parameters():
            parameter.grad /= IMAGES
        update.step(rate=0.1, images=IMAGES)
        reference.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def test_gradients_are_dropped_after_an_update() -> None:
    net = network()
    give_gradients(net, 0)
    DarknetUpdate(net).step(rate=0.1, images=IMAGES)
    assert all(parameter.grad is None for parameter in net.parameters())


def test_a_parameter_without_gradient_only_decays() -> None:
    net = network(decay=0.01, momentum=0.0)
    before = net.layers[0].weight.detach().clone()
    DarknetUpdate(net).step(rate=0.1, images=IMAGES)
    torch.testing.assert_close(net.layers[0].weight.detach(), before * (1 - 0.1 * 0.01))
    assert net.layers[0].bias.detach().abs().max() == 0


def test_momentum_keeps_sums_when_the_batch_changes() -> None:
    """v holds sums over images: an iteration of 16 images after one of 8 divides the old sum by 16 too."""
    net = network(decay=0.0, momentum=0.5)
    bias = net.layers[0].bias
    update = DarknetUpdate(net)
    bias.grad = torch.full_like(bias, -8.0)
    update.step(rate=1.0, images=8)
    assert torch.equal(bias.detach(), torch.ones_like(bias))
    update.step(rate=1.0, images=16)
    assert torch.equal(bias.detach(), torch.full_like(bias, 1 + 4 / 16))


def test_weights_of_a_shortcut_are_clamped_and_never_decay() -> None:
    shortcut = {"from": "-2", "weights_type": "per_feature", "weights_normalization": "relu", "activation": "linear"}
    layers = [golden.conv(4), golden.conv(4), ("shortcut", shortcut), golden.output(), golden.yolo()]
    net = Network(plan_network(golden.sections(golden.with_net({"decay": 0.5}, layers)), Path("case.cfg")))
    weight = net.layers[2].weight
    weight.grad = torch.tensor([[-5.0], [0.25]])
    DarknetUpdate(net).step(rate=1.0, images=1)
    assert torch.equal(weight.detach(), torch.tensor([[2.0], [0.75]]))


def test_frozen_layers_are_left_alone() -> None:
    layers = [golden.conv(4), golden.conv(4, stopbackward=1), golden.output(), golden.yolo()]
    net = Network(plan_network(golden.sections(golden.with_net({"decay": 0.5}, layers)), Path("case.cfg")))
    before = [parameter.detach().clone() for parameter in net.layers[0].parameters()]
    give_gradients(net, 1)
    DarknetUpdate(net).step(rate=0.1, images=IMAGES)
    assert all(torch.equal(a, b) for a, b in zip(before, net.layers[0].parameters(), strict=True))


def test_a_weight_that_is_no_number_is_found() -> None:
    net = network()
    update = DarknetUpdate(net)
    assert update.has_finite_weights()
    net.layers[1].bias.data[0] = float("inf")
    assert not update.has_finite_weights()


def test_a_gradient_that_is_no_number_is_found() -> None:
    net = network()
    update = DarknetUpdate(net)
    assert update.is_finite()
    give_gradients(net, 0)
    assert update.is_finite()
    net.layers[1].bias.grad[0] = float("nan")
    assert not update.is_finite()
    update.clear()
    assert update.is_finite()
