"""[batchnorm]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.layers._base import ParameterRule, Shape
from darkpy.layers._batch_norm import BatchNorm

EXAMPLE: tuple[dict[str, object], tuple[Shape, ...]] = ({}, (Shape(3, 4, 5),))


def module(channels: int = 3) -> BatchNorm:
    made = sections.spec("batchnorm", {}).build([Shape(channels, 4, 5)])
    assert isinstance(made, BatchNorm)
    return made


def test_it_begins_as_in_darknet() -> None:
    made = module(2)
    begun = [value.tolist() for value in sections.spec("batchnorm", {}).blobs(made)]
    assert begun == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]  # shift, scale, mean, variance


def test_training_uses_and_rolls_the_batches_statistics() -> None:
    made = module()
    x = sections.images(2, 3, 4, 5)
    values = x.numpy().astype(np.float64)
    mean, variance = values.mean((0, 2, 3)), values.var((0, 2, 3))
    output = made.train()(x).detach().numpy()
    expected = (values - mean.reshape(1, 3, 1, 1)) / np.sqrt(variance.reshape(1, 3, 1, 1) + 1e-5)
    np.testing.assert_allclose(output, expected, atol=1e-5)
    np.testing.assert_allclose(made.rolling_mean.numpy(), 0.01 * mean, rtol=1e-5)
    np.testing.assert_allclose(made.rolling_variance.numpy(), 0.01 * variance * 40 / 39, rtol=1e-5)


def test_inference_uses_the_rolling_statistics() -> None:
    made = module(1).eval()
    with torch.no_grad():
        for blob, value in zip(sections.spec("batchnorm", {}).blobs(made), (5.0, 2.0, 3.0, 4.0), strict=True):
            blob.fill_(value)
        output = made(torch.full((1, 1, 1, 2), 7.0))
    assert output.flatten().tolist() == pytest.approx([2 * 4 / np.sqrt(4 + 1e-5) + 5] * 2)


def test_one_value_a_channel_can_be_trained() -> None:
    made = module(2).train()
    output = made(torch.full((1, 2, 1, 1), 3.0))
    assert output.flatten().tolist() == [0.0, 0.0]
    assert made.rolling_mean.tolist() == pytest.approx([0.03, 0.03])


def test_no_decay_acts_on_scale_and_shift() -> None:
    made = module()
    rules = sections.spec("batchnorm", {}).parameter_rules(made)
    assert rules == ((made.bias, ParameterRule()), (made.scale, ParameterRule()))


def test_below_stopbackward_it_stays_in_inference_mode() -> None:
    network = sections.network(sections.conv() + "[batchnorm]\n" + sections.conv(stopbackward=1))
    assert [layer.training for layer in network.train().layers] == [False, False, True]


def test_the_row_of_the_table() -> None:
    source = (Shape(3, 4, 5),)
    assert sections.spec("batchnorm", {}).row(source, source[0]) == "Batch Normalization Layer: 5 x 4 x 3 image"
