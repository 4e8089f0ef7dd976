from pathlib import Path

import golden
import pytest
import torch
from torch import Tensor

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.network import Network, plan_network

IMAGES = 8


def network(**net: object) -> Network:
    layers = [golden.conv(4), golden.conv(6, learning_rate=0.5), golden.output(), golden.yolo()]
    return Network(plan_network(golden.sections(golden.with_net(net, layers)), Path("case.cfg")))


def give_gradients(net: Network, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        give(parameter, torch.randn(parameter.shape, generator=generator) * IMAGES)


def give(parameter: Tensor, gradient: Tensor) -> None:
    """Let backward find this gradient."""
    torch.autograd.backward([parameter], [gradient.expand_as(parameter)])


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
        update.step(rate=0.1, images=IMAGES, iteration=1)
        reference.step()
        reference.zero_grad()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def test_a_gradient_is_freed_as_soon_as_it_is_gathered() -> None:
    net = network(momentum=0.0)
    update = DarknetUpdate(net)
    freed: list[bool] = []
    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(lambda parameter: freed.append(parameter.grad is None))
    losses_of(net)
    assert freed == [True] * sum(1 for _ in net.parameters())
    assert all(v.abs().max() > 0 for v in update.state().values())


def losses_of(net: Network) -> None:
    truths = torch.tensor([[[0.5, 0.5, 0.3, 0.4, 0.0]]]).expand(4, -1, -1)
    net.losses(torch.rand(4, 3, net.net.height, net.net.width), truths)


def test_mini_batches_add_up_in_the_accumulator() -> None:
    net = network()
    update = DarknetUpdate(net)
    bias = net.layers[0].bias
    give(bias, torch.tensor(2.0))
    give(bias, torch.tensor(-5.0))
    assert torch.equal(update.state()["0.bias.v"], torch.full_like(bias, 3.0))


def test_a_closed_update_leaves_gradients_where_they_are() -> None:
    net = network()
    update = DarknetUpdate(net)
    update.close()
    give(net.layers[0].bias, torch.tensor(2.0))
    assert net.layers[0].bias.grad is not None
    assert update.state()["0.bias.v"].abs().max() == 0


def test_a_second_update_takes_over() -> None:
    net = network()
    first, second = DarknetUpdate(net), DarknetUpdate(net)
    give(net.layers[0].bias, torch.tensor(2.0))
    assert first.state()["0.bias.v"].abs().max() == 0
    assert second.state()["0.bias.v"].max() == -2


def test_a_restored_update_goes_on_bit_for_bit() -> None:
    ours, theirs = network(decay=0.01), network()
    theirs.load_state_dict(ours.state_dict())
    update = DarknetUpdate(ours)
    give_gradients(ours, 0)
    update.step(rate=0.1, images=IMAGES, iteration=1)
    theirs.load_state_dict(ours.state_dict())
    other = DarknetUpdate(theirs)
    other.decay = update.decay
    other.restore({name: tensor.clone() for name, tensor in update.state().items()} | {"more": torch.zeros(1)})
    for net, each in ((ours, update), (theirs, other)):
        give_gradients(net, 1)
        each.step(rate=0.1, images=IMAGES, iteration=1)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    net = network()
    update = DarknetUpdate(net)
    state = {name: torch.ones_like(tensor) for name, tensor in update.state().items()}
    with pytest.raises(ValueError, match=r"1\.scale\.v of the state has shape \(2,\), not \(6,\)"):
        update.restore(state | {"1.scale.v": torch.zeros(2)})
    del state["1.scale.v"]
    with pytest.raises(ValueError, match=r"the state has no 1\.scale\.v"):
        update.restore(state)
    assert all(tensor.abs().max() == 0 for tensor in update.state().values())


def test_a_parameter_without_gradient_only_decays() -> None:
    net = network(decay=0.01, momentum=0.0)
    before = net.layers[0].weight.detach().clone()
    DarknetUpdate(net).step(rate=0.1, images=IMAGES, iteration=1)
    torch.testing.assert_close(net.layers[0].weight.detach(), before * (1 - 0.1 * 0.01))
    assert net.layers[0].bias.detach().abs().max() == 0


def test_momentum_keeps_sums_when_the_batch_changes() -> None:
    """v holds sums over images: an iteration of 16 images after one of 8 divides the old sum by 16 too."""
    net = network(decay=0.0, momentum=0.5)
    bias = net.layers[0].bias
    update = DarknetUpdate(net)
    give(bias, torch.tensor(-8.0))
    update.step(rate=1.0, images=8, iteration=1)
    assert torch.equal(bias.detach(), torch.ones_like(bias))
    update.step(rate=1.0, images=16, iteration=1)
    assert torch.equal(bias.detach(), torch.full_like(bias, 1 + 4 / 16))


def test_weights_of_a_shortcut_are_clamped_and_never_decay() -> None:
    shortcut = {"from": "-2", "weights_type": "per_feature", "weights_normalization": "relu", "activation": "linear"}
    layers = [golden.conv(4), golden.conv(4), ("shortcut", shortcut), golden.output(), golden.yolo()]
    net = Network(plan_network(golden.sections(golden.with_net({"decay": 0.5}, layers)), Path("case.cfg")))
    weight = net.layers[2].weight
    update = DarknetUpdate(net)
    give(weight, torch.tensor([[-5.0], [0.25]]))
    update.step(rate=1.0, images=1, iteration=1)
    assert torch.equal(weight.detach(), torch.tensor([[2.0], [0.75]]))


def test_frozen_layers_are_left_alone() -> None:
    layers = [golden.conv(4), golden.conv(4, stopbackward=1), golden.output(), golden.yolo()]
    net = Network(plan_network(golden.sections(golden.with_net({"decay": 0.5}, layers)), Path("case.cfg")))
    before = [parameter.detach().clone() for parameter in net.layers[0].parameters()]
    update = DarknetUpdate(net)
    give_gradients(net, 1)
    update.step(rate=0.1, images=IMAGES, iteration=1)
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
    give(net.layers[1].bias, torch.tensor([float("inf"), 0, 0, 0, 0, 0]))
    give(net.layers[1].bias, torch.tensor([float("-inf"), 0, 0, 0, 0, 0]))
    assert not update.is_finite()
    update.clear()
    assert update.is_finite()


@pytest.mark.parametrize("adam", [0, 1])
def test_weights_that_layers_share_are_updated_once_for_each(adam: int) -> None:
    """One accumulator, and decay, step and momentum twice."""
    layers = [golden.conv(3), golden.conv(3, share_index=0), golden.output(), golden.yolo()]
    settings: dict[str, object] = {"momentum": 0.9, "decay": 0.01, "adam": adam, "B1": 0.9, "B2": 0.99, "eps": 1e-4}
    net = Network(plan_network(golden.sections(golden.with_net(settings, layers)), Path("case.cfg")))
    weight = net.layers[0].weight
    assert isinstance(weight, Tensor)
    update = DarknetUpdate(net)
    value, total = weight.detach().double(), torch.zeros_like(weight).double()
    mean, square = torch.zeros_like(total), torch.zeros_like(total)
    for iteration in (1, 2):
        gradient = torch.full_like(weight, 0.5 * iteration) + weight.detach()
        give(weight, gradient)
        total -= gradient.double()
        update.step(rate=0.1, images=IMAGES, iteration=iteration)
        for _ in range(2):
            total -= 0.01 * IMAGES * value
            if adam:
                mean, square = 0.9 * mean + 0.1 * total, 0.99 * square + 0.01 * total**2
                size = (square / (1 - 0.99**iteration)).sqrt() + 1e-4
                value = value + 0.1 * mean / (1 - 0.9**iteration) / size
                total = torch.zeros_like(total)
            else:
                value = value + 0.1 / IMAGES * total
                total = total * 0.9
        torch.testing.assert_close(weight.detach().double(), value, rtol=1e-5, atol=1e-6)
    assert len([name for name in update.state() if name.endswith("weight.v")]) == 2  # of layers 0 and 2
