"""Keys of [net] and of layers that change the weight update, against plain arithmetic."""

import math

import golden
import pytest
import torch
from gradients import TRUTHS, build, give, pictures
from torch import Tensor

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.network import Network

IMAGES = 8


def network(**net: object) -> Network:
    return build([golden.conv(4), golden.output(), golden.yolo()], **net)


def values(tensor: Tensor) -> list[float]:
    return tensor.detach().double().flatten().tolist()


def test_adam_is_darknets_on_the_sum_with_decay_in_the_gradient() -> None:
    net = network(adam=1, B1=0.8, B2=0.99, eps=0.001, decay=0.01)
    scale = net.layers[0].scale
    update = DarknetUpdate(net)
    w, m, s = values(scale), [0.0] * 4, [0.0] * 4
    for step in range(1, 5):
        gradient = torch.tensor([3.0, -2.0, 0.5, 0.0]) * step
        give(scale, gradient)
        update.step(rate=0.1, images=IMAGES, iteration=step)
        for i, g in enumerate(gradient.tolist()):
            d = -g - 0.01 * IMAGES * w[i]
            m[i] = 0.8 * m[i] + 0.2 * d
            s[i] = 0.99 * s[i] + 0.01 * d * d
            w[i] += 0.1 * (m[i] / (1 - 0.8**step)) / (math.sqrt(s[i] / (1 - 0.99**step)) + 0.001)
        assert update.state()["0.scale.v"].abs().max() == 0
    assert values(scale) == pytest.approx(w, rel=1e-5)


def test_adam_counts_from_the_resumed_iteration() -> None:
    net = network(adam=1, decay=0)
    update = DarknetUpdate(net)
    give(net.layers[0].bias, torch.tensor(-1.0))
    update.step(rate=1.0, images=IMAGES, iteration=500)
    d = 1.0
    expected = (0.1 * d / (1 - 0.9**500)) / (math.sqrt(0.001 * d * d / (1 - 0.999**500)) + 1e-6)
    assert values(net.layers[0].bias) == pytest.approx([expected] * 4, rel=1e-5)


def test_adam_leaves_shortcuts_to_momentum() -> None:
    shortcut = {"from": "-2", "weights_type": "per_feature", "weights_normalization": "relu", "activation": "linear"}
    net = build([golden.conv(4), golden.conv(4), ("shortcut", shortcut), golden.output(), golden.yolo()], adam=1)
    update = DarknetUpdate(net)
    assert "0.weight.m" in update.state()
    assert "0.bias.s" in update.state()
    assert "2.weight.m" not in update.state()
    give(net.layers[2].weight, torch.tensor(-0.5))
    update.step(rate=1.0, images=1, iteration=1)
    assert values(net.layers[2].weight) == [1.5, 1.5]


def test_clip_bounds_convolution_weights_after_the_update() -> None:
    net = build([golden.conv(4, clip=0.05), golden.output(), golden.yolo()], decay=0, momentum=1)
    update = DarknetUpdate(net)
    before = net.layers[0].weight.detach().clone()
    gradient = torch.randn(before.shape, generator=torch.Generator().manual_seed(0))
    give(net.layers[0].weight, gradient)
    give(net.layers[0].bias, torch.tensor(-3.0))
    update.step(rate=1.0, images=1, iteration=1)
    assert torch.equal(net.layers[0].weight.detach(), (before - gradient).clamp(-0.05, 0.05))
    assert values(net.layers[0].bias) == [3.0] * 4
    assert torch.equal(update.state()["0.weight.v"], -gradient)  # gradients are not clipped


def test_grad_centr_takes_the_mean_out_of_each_filter_with_its_momentum() -> None:
    """Only filters of a multiple of 32 weights: the first layer has 27, the second 64 x 1 x 1."""
    layers = [golden.conv(64, grad_centr=1), golden.conv(2, 1, grad_centr=1), golden.output(), golden.yolo()]
    net = build(layers, decay=0, momentum=1)
    update = DarknetUpdate(net)
    generator = torch.Generator().manual_seed(0)
    sums: dict[int, Tensor] = {}
    for index, is_centred in ((0, False), (1, True)):
        weight = net.layers[index].weight
        before, gradient = weight.detach().clone(), torch.randn(weight.shape, generator=generator)
        give(weight, gradient)
        sums[index] = before - gradient
        if is_centred:
            sums[index] = before - (gradient - gradient.mean((1, 2, 3), keepdim=True))
    update.step(rate=1.0, images=1, iteration=1)
    for index, expected in sums.items():
        torch.testing.assert_close(net.layers[index].weight.detach(), expected)
    assert update.state()["1.weight.v"].mean((1, 2, 3)).abs().max() < 1e-6


def test_grad_centr_needs_batch_norm() -> None:
    layers = [golden.conv(32), golden.conv(2, 1, grad_centr=1, batch_normalize=0), golden.output(), golden.yolo()]
    net = build(layers, decay=0)
    before = net.layers[1].weight.detach().clone()
    update = DarknetUpdate(net)
    give(net.layers[1].weight, torch.tensor(1.0))
    update.step(rate=1.0, images=1, iteration=1)
    torch.testing.assert_close(net.layers[1].weight.detach(), before - 1)


def trained(**net: object) -> Network:
    """Return a network after three updates of two mini-batches."""
    made = network(momentum=0.9, decay=0.01, **net)
    update = DarknetUpdate(made)
    for iteration in range(1, 4):
        for part in range(2):
            made.losses(pictures(2 * iteration + part), TRUTHS)
        update.step(rate=0.001, images=IMAGES, iteration=iteration)
    return made


def test_loss_scale_of_a_power_of_two_changes_no_bit() -> None:
    """A44."""
    plain, scaled = trained(), trained(loss_scale=128)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), scaled.parameters(), strict=True))


def test_loss_scale_of_any_number_changes_next_to_nothing() -> None:
    plain, scaled = trained(), trained(loss_scale=100)
    for one, other in zip(plain.parameters(), scaled.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_adam_divides_its_rate_by_loss_scale_and_knows_it_nowhere_else() -> None:
    """The scale of a gradient cancels in the step; decay counts less beside it."""
    net = network(adam=1, loss_scale=4, decay=0.01, eps=1e-20)
    update = DarknetUpdate(net)
    before = values(net.layers[0].scale)
    give(net.layers[0].scale, torch.tensor(-4.0))
    update.step(rate=0.1, images=IMAGES, iteration=1)
    assert update.state()["0.scale.m"].tolist() == pytest.approx([0.1 * (4 - 0.01 * IMAGES * w) for w in before])
    assert values(net.layers[0].scale) == pytest.approx([w + 0.1 / 4 for w in before])


@pytest.mark.parametrize(("keys", "first"), [({"dont_update": 3}, 4), ({"burnin_update": 2}, 4)])
def test_gradients_of_updates_that_are_left_out_enter_the_first_one(keys: dict[str, object], first: int) -> None:
    net = build([golden.conv(4, **keys), golden.output(), golden.yolo()], decay=0.5, momentum=0.5, burn_in=2)
    bias, other = net.layers[0].bias, net.layers[1].bias
    update = DarknetUpdate(net)
    for iteration in range(1, first + 1):
        assert values(bias) == [0.0] * 4
        give(bias, torch.tensor(-1.0))
        give(other, torch.tensor(-1.0))
        update.step(rate=1.0, images=1, iteration=iteration)
    assert values(bias) == [float(first)] * 4  # no momentum on the way
    assert values(other)[0] == 1 + 1.5 + 1.75 + 1.875
    assert update.state()["0.bias.v"].tolist() == [first / 2] * 4


def test_train_only_bn_reaches_earlier_layers_and_moves_their_statistics_alone() -> None:
    layers = [golden.conv(4), golden.conv(4, train_only_bn=1), golden.conv(4), golden.output(), golden.yolo()]
    net = build(layers, decay=0.5)
    update = DarknetUpdate(net)
    before = [{name: value.clone() for name, value in layer.state_dict().items()} for layer in net.layers]
    net.losses(pictures(), TRUTHS)
    update.step(rate=0.01, images=4, iteration=1)
    assert net.updated_from == 2
    for index, earlier in enumerate(before[:4]):
        for name, value in net.layers[index].state_dict().items():
            assert torch.equal(value, earlier[name]) == (index < 2 and "rolling" not in name), f"{index} {name}"


def test_onlyforward_lets_no_gradient_through() -> None:
    layers = [golden.conv(4), golden.conv(4, onlyforward=1), golden.conv(4), golden.output(), golden.yolo()]
    net = build(layers, decay=0.5)
    update = DarknetUpdate(net)
    losses = net.losses(pictures(), TRUTHS)
    reached = {name.split(".")[0] for name, value in update.state().items() if value.abs().max() > 0}
    assert reached == {"2", "3"}
    assert list(losses) == [4]
    before = net.layers[0].weight.detach().clone()
    update.step(rate=0.1, images=4, iteration=1)
    torch.testing.assert_close(net.layers[0].weight.detach(), before * (1 - 0.1 * 0.5))  # it still decays


def test_a_head_with_onlyforward_has_no_loss() -> None:
    layers = [golden.conv(4), golden.output(), golden.yolo(onlyforward=1), ("route", {"layers": 0}), golden.output()]
    net = build([*layers, golden.yolo()])
    update = DarknetUpdate(net)
    assert list(net.losses(pictures(), TRUTHS)) == [5]
    assert net.loss_indices == (5,)
    assert update.state()["1.weight.v"].abs().max() == 0


def test_sequential_subdivisions_divide_the_step_and_leave_decay() -> None:
    net = network(subdivisions=4, sequential_subdivisions=2, decay=0.5, momentum=0.0)
    before = net.layers[0].weight.detach().clone()
    update = DarknetUpdate(net)
    give(net.layers[0].weight, torch.tensor(8.0))
    update.step(rate=0.1, images=4, iteration=1)
    torch.testing.assert_close(net.layers[0].weight.detach(), before - 0.1 * 8 / (4 * 2) - 0.1 * 0.5 * before)


def test_try_fix_nan_mends_gradients_weights_and_statistics() -> None:
    net = network(try_fix_nan=1, decay=0, momentum=0)
    conv = net.layers[0]
    before = conv.weight.detach().clone()
    with torch.no_grad():
        conv.weight.view(-1)[2] = math.nan
        conv.rolling_variance[1] = math.inf
    update = DarknetUpdate(net)
    gradient = torch.full_like(before, -2.0)
    gradient.view(-1)[5] = math.nan
    give(conv.weight, gradient)
    give(conv.bias, torch.tensor([1.0, 1.0, math.inf, 1.0]))
    assert update.is_finite()  # the update is made
    update.step(rate=1.0, images=1, iteration=1)
    expected = before + 2
    expected.view(-1)[2] = 1 / 3 + 2
    expected.view(-1)[5] = before.view(-1)[5]
    torch.testing.assert_close(conv.weight.detach(), expected)
    torch.testing.assert_close(conv.bias.detach(), torch.tensor([-1.0, -1.0, 1 / 3, -1.0]))
    assert conv.rolling_variance.tolist() == [0, 0.5, 0, 0]


def test_try_fix_nan_keeps_a_bad_pixel_from_spreading() -> None:
    plain, guarded = network(), network(try_fix_nan=1)
    images = pictures()
    images[0, 0, 10, 10] = math.nan
    updates = [DarknetUpdate(net) for net in (plain, guarded)]
    losses = [net.losses(images, TRUTHS)[2] for net in (plain, guarded)]
    assert [bool(loss.cost.isfinite()) for loss in losses] == [False, True]
    assert not updates[0].is_finite()
    updates[1].step(rate=0.1, images=4, iteration=1)
    assert updates[1].has_finite_weights()
