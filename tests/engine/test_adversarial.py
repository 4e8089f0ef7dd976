import golden
import torch
from gradients import TRUTHS, build, pictures

from darkpy.engine.adversarial import Adversary
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.events import Line
from darkpy.layers._base import StepKey
from darkpy.network import Network


def network(*, stopbackward: int = 0, **net: object) -> Network:
    """A network that has learnt running statistics and finds something everywhere."""
    layers = [golden.conv(4), golden.conv(4, stopbackward=stopbackward), golden.output(), golden.yolo()]
    made = build(layers, **({"adversarial_lr": 0.05, "max_batches": 100} | net))
    made.layers[2].bias.data += 1
    with torch.no_grad():
        made(pictures(9))
        for statistics in made.buffers():
            statistics *= 100  # one pass moves them by a hundredth
    return made


def chosen_key(adversary: Adversary, iteration: int = 50) -> StepKey:
    return next(key for row in range(99) if adversary.chooses(key := StepKey(1, iteration, row)))


def test_half_of_the_mini_batches_are_chosen_after_burn_in_by_their_key_alone() -> None:
    adversary = Adversary(network(burn_in=10), print)
    keys = [StepKey(1, iteration, row) for iteration in range(11, 61) for row in (0, 4)]
    chosen = [adversary.chooses(key) for key in keys]
    assert 30 < sum(chosen) < 70  # of 100; four standard deviations
    assert [adversary.chooses(key) for key in reversed(keys)] == chosen[::-1]
    assert not any(adversary.chooses(StepKey(1, 10, row)) for row in range(50))
    assert not any(Adversary(network(adversarial_lr=0), print).chooses(key) for key in keys)


def test_images_move_along_their_delta_and_stay_images() -> None:
    net, events = network(), []
    adversary = Adversary(net, events.append)
    key, images = chosen_key(adversary), pictures()
    changed = adversary.images(images, key)
    assert events == [Line(f"\n adversarial training, adversarial_lr = {0.05 * 50 / 100:f} ")]
    for layer in net.layers[:3]:
        layer.eval()
    delta = net.image_delta(images, torch.zeros(4, 1, 5))
    assert delta is not None
    torch.testing.assert_close(changed, (images + 0.025 * delta).clamp(0, 1))
    assert float((changed - images).abs().max()) > 0.001
    assert float(changed.min()) >= 0
    assert float(changed.max()) <= 1


def test_the_delta_is_the_slope_of_the_head_inputs_times_their_delta() -> None:
    net = network()
    for layer in net.layers[:3]:
        layer.eval()
    images, without = pictures().requires_grad_(), torch.zeros(4, 1, 5)
    head_input = net(images)[3]
    head = net.head_losses({3: head_input}, without, (96, 64), adversarial=True)[3].delta
    (head * head_input).sum().backward()
    assert images.grad is not None
    delta = net.image_delta(images, without)
    assert delta is not None
    torch.testing.assert_close(delta, images.grad)


def test_a_delta_that_is_no_number_leaves_its_pixel_alone() -> None:
    net = network()
    net.layers[2].bias.data[2] = 1e4  # boxes without end
    adversary = Adversary(net, lambda event: None)
    images = pictures()
    assert torch.equal(adversary.images(images, chosen_key(adversary)), images)


def test_the_pass_leaves_statistics_accumulators_and_modes_alone() -> None:
    net = network()
    update = DarknetUpdate(net)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    adversary = Adversary(net, lambda event: None)
    adversary.images(pictures(), chosen_key(adversary))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(value.abs().max() == 0 for value in update.state().values())
    assert all(layer.training for layer in net.layers)


def test_with_stopbackward_no_picture_is_changed() -> None:
    keys = [StepKey(1, 50, row) for row in range(20)]
    assert not any(Adversary(network(stopbackward=1), print).chooses(key) for key in keys)
    late = Adversary(network(stopbackward=50), print)
    assert any(late.chooses(key) for key in keys)
    assert not any(late.chooses(StepKey(1, 49, row)) for row in range(20))


def test_a_head_that_only_goes_forward_changes_no_picture() -> None:
    net = build([golden.conv(4), golden.output(), golden.yolo(onlyforward=1)], adversarial_lr=1, max_batches=100)
    adversary = Adversary(net, lambda event: None)
    images = pictures()
    assert torch.equal(adversary.images(images, chosen_key(adversary)), images)
    assert net.losses(images, TRUTHS) == {}
