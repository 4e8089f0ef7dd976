"""[connected]."""

import math

import numpy as np
import pytest
import sections
import torch

from darkpy.layers._base import ParameterRule, Shape
from darkpy.layers.connected import Connected

EXAMPLE = ({"output": 4, "activation": "leaky", "batch_normalize": 1}, (Shape(3, 2, 5),))
SOURCE = Shape(3, 2, 5)


def made(**values: object) -> Connected:
    module = sections.spec("connected", {"output": 4, "activation": "linear", **values}).build([SOURCE])
    assert isinstance(module, Connected)
    with torch.no_grad():
        for number, value in enumerate((*module.parameters(), *module.buffers())):
            value.copy_(sections.images(*value.shape, seed=number) + 0.5)
    return module


def numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy().astype(np.float64)


def test_each_output_is_a_row_of_weights_times_the_values_in_memory_order() -> None:
    module, x = made(), sections.images(2, *SOURCE)
    expected = numbers(x).reshape(2, 30) @ numbers(module.weight).T + numbers(module.bias)
    output = module(x.to(memory_format=torch.channels_last))
    assert output.shape == (2, 4, 1, 1)
    np.testing.assert_allclose(numbers(output).reshape(2, 4), expected, rtol=1e-5)


def test_batch_norm_in_inference_and_training() -> None:
    module, x = made(batch_normalize=1), sections.images(5, *SOURCE)
    sums = numbers(x).reshape(5, 30) @ numbers(module.weight).T
    mean, variance = numbers(module.rolling_mean), numbers(module.rolling_variance)
    normal = (sums - mean) / np.sqrt(variance + 1e-5)
    expected = normal * numbers(module.scale) + numbers(module.bias)
    np.testing.assert_allclose(numbers(module.eval()(x)).reshape(5, 4), expected, rtol=1e-4)
    normal = (sums - sums.mean(0)) / np.sqrt(sums.var(0) + 1e-5)
    expected = normal * numbers(module.scale) + numbers(module.bias)
    np.testing.assert_allclose(numbers(module.train()(x)).reshape(5, 4), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(numbers(module.rolling_mean), 0.99 * mean + 0.01 * sums.mean(0), rtol=1e-5)
    rolled = 0.99 * variance + 0.01 * sums.var(0, ddof=1)
    np.testing.assert_allclose(numbers(module.rolling_variance), rolled, rtol=1e-5)


@pytest.mark.parametrize("name", ["swish", "mish", "relu"])
def test_every_activation_can_be_used(name: str) -> None:
    """swish and mish too, of which the C program makes zeros here."""
    module, x = made(activation=name), sections.images(2, *SOURCE)
    plain = made()
    output = {"swish": torch.nn.functional.silu, "mish": torch.nn.functional.mish, "relu": torch.relu}[name](plain(x))
    assert torch.allclose(module(x), output)


def test_gradients_of_the_output_are_held_within_1() -> None:
    module, x = made(), sections.images(2, *SOURCE).requires_grad_()
    gradient = torch.tensor([[3.0, -5.0, 0.5, -0.25], [0.0, 1.0, 2.0, -0.5]])
    module(x).backward(gradient.view(2, 4, 1, 1))
    bounded = numbers(gradient).clip(-1, 1)
    assert x.grad is not None
    np.testing.assert_allclose(numbers(module.bias.grad), bounded.sum(0), rtol=1e-6)  # type: ignore[arg-type]
    expected = bounded.T @ numbers(x).reshape(2, 30)
    np.testing.assert_allclose(numbers(module.weight.grad), expected, rtol=1e-4, atol=1e-6)  # type: ignore[arg-type]
    np.testing.assert_allclose(numbers(x.grad).reshape(2, 30), bounded @ numbers(module.weight), rtol=1e-4, atol=1e-6)


def test_the_gradient_of_a_batch_norms_shift_is_counted_once() -> None:
    """The C program adds it twice."""
    module, x = made(batch_normalize=1), sections.images(3, *SOURCE)
    module.train()(x).backward(torch.full((3, 4, 1, 1), 0.5))
    assert module.bias.grad is not None
    assert module.bias.grad.tolist() == pytest.approx([1.5] * 4)


def test_blobs_are_in_file_order_with_batch_norm_behind_the_weights() -> None:
    module = made(batch_normalize=1)
    spec = sections.spec("connected", {"output": 4, "batch_normalize": 1})
    blobs = (module.bias, module.weight, module.scale, module.rolling_mean, module.rolling_variance)
    assert all(one is other for one, other in zip(spec.blobs(module), blobs, strict=True))
    assert module.weight.shape == (4, 30)


def test_decay_acts_on_the_weights_alone_and_adam_on_nothing() -> None:
    module = made(batch_normalize=1)
    rules = sections.spec("connected", {"output": 4, "batch_normalize": 1}).parameter_rules(module)
    assert [rule for _, rule in rules] == [ParameterRule(decay=True), ParameterRule(), ParameterRule()]


def test_it_begins_as_in_darknet() -> None:
    module = sections.spec("connected", {"output": 40, "batch_normalize": 1}).build([SOURCE])
    assert isinstance(module, Connected)
    bound = math.sqrt(2 / 30)
    assert 0.95 * bound < module.weight.abs().max() <= bound
    assert module.rolling_variance.unique().tolist() == [0.0]


def test_the_row_of_the_table() -> None:
    spec = sections.spec("connected", {"output": 1000})
    assert spec.row([Shape(1024, 1, 1)], Shape(1000, 1, 1)) == "connected                            1024  ->  1000"
    assert spec.bflops([SOURCE], Shape(1000, 1, 1)) == 0.0
