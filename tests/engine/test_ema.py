import golden
import pytest
import torch
from gradients import build

from darkpy.engine.ema import WeightAverage
from darkpy.events import Event, Line
from darkpy.network import Network

ALPHA = 0.75


def network(max_batches: int = 2004, **net: object) -> Network:
    layers = [golden.conv(4), golden.conv(4), golden.output(), golden.yolo()]
    return build(layers, ema_alpha=ALPHA, max_batches=max_batches, **net)


def train(net: Network, average: WeightAverage, iterations: range) -> None:
    """Every update adds 1 to the first bias."""
    for iteration in iterations:
        with torch.no_grad():
            net.layers[0].bias += 1
        average.after_update(iteration)


def lines(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Line)]


def test_a43_the_average_begins_at_half_the_run_and_is_applied_1000_iterations_before_its_end() -> None:
    net, events = network(), []
    average = WeightAverage(net, events.append)
    assert average.notes() == []
    train(net, average, range(1, 1002))
    assert not average.has_begun
    assert events == []
    expected = 1002.0  # at initialisation, and then averaged with itself
    train(net, average, range(1002, 1003))
    assert average.has_begun
    train(net, average, range(1003, 1004))
    expected = ALPHA * expected + (1 - ALPHA) * 1003
    assert float(average.state()["ema.0.bias"][0]) == expected
    train(net, average, range(1004, 1005))
    assert net.layers[0].bias.tolist() == [expected] * 4
    train(net, average, range(1005, 1010))
    assert net.layers[0].bias.tolist() == [expected + 5] * 4
    assert float(average.state()["ema.0.bias"][0]) == expected
    update = f" ema_update(), ema_alpha = {ALPHA:f} "
    assert lines(events) == [" EMA initialization ", update, update, " ema_apply() "]


@pytest.mark.parametrize(("max_batches", "start", "applied"), [(1500, 750, 500), (2000, 1000, 1000)])
def test_a43_a_run_too_short_for_an_average_is_told(max_batches: int, start: int, applied: int) -> None:
    net, events = network(max_batches), []
    average = WeightAverage(net, events.append)
    assert average.notes() == [
        f"Warning: [net] ema_alpha=0.75: the average begins at iteration {start} (max_batches/2), but ends at "
        f"{applied} (max_batches - 1000): nothing is ever averaged. Set max_batches above 2000, or ema_alpha=0."
    ]
    train(net, average, range(1, start + 100))
    assert net.layers[0].bias.tolist() == [start + 99] * 4
    assert float(average.state()["ema.0.bias"][0]) == start


def test_weights_biases_and_scales_of_convolutions_are_averaged() -> None:
    layers = [golden.conv(4), golden.conv(4, stopbackward=1), golden.output(), golden.yolo()]
    net = build(layers, ema_alpha=0.5, max_batches=3000)
    average = WeightAverage(net, print)
    average.after_update(1500)
    assert list(average.state()) == ["ema.1.weight", "ema.1.bias", "ema.1.scale", "ema.2.weight", "ema.2.bias"]


def test_without_the_key_nothing_is_kept() -> None:
    average = WeightAverage(build([golden.conv(4), golden.output(), golden.yolo()], max_batches=1500), print)
    average.after_update(1400)
    assert not average.has_begun
    assert average.notes() == []


def test_the_network_has_the_average_within_the_context_only() -> None:
    net = network()
    average = WeightAverage(net, lambda event: None)
    train(net, average, range(1002, 1004))
    kept = average.state()["ema.0.bias"].tolist()
    with average.in_network():
        assert net.layers[0].bias.tolist() == kept
    assert net.layers[0].bias.tolist() == [2.0] * 4
    assert average.state()["ema.0.bias"].tolist() == kept


def test_a_restored_average_goes_on_bit_for_bit() -> None:
    net, other = network(), network()
    first, second = (WeightAverage(each, lambda event: None) for each in (net, other))
    train(net, first, range(1002, 1003))
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    other.load_state_dict(net.state_dict())
    second.restore(state | {"0.bias.v": torch.zeros(4)})
    for each, average in ((net, first), (other, second)):
        train(each, average, range(1003, 1004))
    assert all(torch.equal(first.state()[name], second.state()[name]) for name in state)
    second.restore({})
    assert not second.has_begun


def test_a_state_with_half_an_average_is_refused() -> None:
    average = WeightAverage(network(), lambda event: None)
    average.after_update(1002)
    state = average.state()
    del state["ema.1.bias"]
    with pytest.raises(ValueError, match=r"the state has no ema\.1\.bias"):
        average.restore(state)
    assert len(average.state()) == len(state) + 1
