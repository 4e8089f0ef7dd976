"""[softmax]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape
from darkpy.layers._head import LossLayer
from darkpy.layers.softmax import Softmax

EXAMPLE = ({"groups": 2}, (Shape(6, 1, 1),))
CLASSIFIER = "[avgpool]\n" + "[connected]\noutput=3\nactivation=linear\n"


def made(shape: Shape | None = None, **values: object) -> Softmax:
    module = sections.spec("softmax", values).build([shape or Shape(6, 1, 1)])
    assert isinstance(module, Softmax)
    return module


def shares(x: np.ndarray, axis: int) -> np.ndarray:
    exponent = np.exp(x - x.max(axis, keepdims=True))
    return exponent / exponent.sum(axis, keepdims=True)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_shares_of_equal_parts(groups: int, temperature: float) -> None:
    x = sections.images(2, 6, 1, 1) * 5
    output = made(groups=groups, temperature=temperature)(x)
    expected = shares(x.numpy().astype(np.float64).reshape(2, groups, -1) / temperature, 2)
    np.testing.assert_allclose(output.numpy().reshape(2, groups, -1), expected, rtol=1e-5)


def test_spatial_shares_are_of_each_pixels_channels() -> None:
    x = sections.images(2, 6, 2, 3) * 5
    output = made(Shape(6, 2, 3), spatial=1)(x)
    np.testing.assert_allclose(output.numpy(), shares(x.numpy().astype(np.float64), 1), rtol=1e-5)


def test_the_loss_is_that_of_each_true_class() -> None:
    module = made()
    assert isinstance(module, LossLayer)
    x = (sections.images(2, 6, 1, 1) * 5).requires_grad_()
    truths = torch.eye(6)[[2, 5]]
    output = module(x)
    loss = module.loss(output.detach(), truths, (1, 1))
    expected = shares(x.detach().numpy().astype(np.float64).reshape(2, 6), 1)
    assert loss.cost.item() == pytest.approx(-np.log(expected[0, 2]) - np.log(expected[1, 5]), rel=1e-5)
    assert loss.total_loss.item() == pytest.approx(loss.cost.item() / 2)
    output.backward(-loss.delta)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy().reshape(2, 6), expected - truths.numpy(), atol=1e-6)


def test_smoothed_truths_count_every_class_in_full() -> None:
    """As the C program: the error is -log(share) wherever the truth is not 0."""
    output = torch.tensor([0.2, 0.8]).view(1, 2, 1, 1)
    loss = made(Shape(2, 1, 1)).loss(output, torch.tensor([[0.1, 0.9]]), (1, 1))
    assert loss.cost.item() == pytest.approx(-np.log(0.2) - np.log(0.8), rel=1e-5)


def test_a_share_of_0_has_a_finite_loss() -> None:
    loss = made(Shape(2, 1, 1)).loss(torch.tensor([0.0, 1.0]).view(1, 2, 1, 1), torch.tensor([[1.0, 0.0]]), (1, 1))
    assert loss.cost.isfinite()


def test_adversarial_delta_is_that_without_a_truth() -> None:
    output = made()(sections.images(1, 6, 1, 1))
    assert torch.equal(made().loss(output, torch.zeros(1, 1, 5), (1, 1), adversarial=True).delta, -output)


def test_noloss_passes_gradients_on_and_takes_no_loss() -> None:
    network = sections.network(CLASSIFIER + "[softmax]\nnoloss=1\n" + "[softmax]\n")
    assert network.loss_indices == (3,)
    x = sections.images(1, 6, 1, 1).requires_grad_()
    gradient = sections.images(1, 6, 1, 1, seed=2)
    made(noloss=1)(x).backward(gradient)
    assert torch.equal(x.grad, gradient)  # type: ignore[arg-type]


def test_spatial_without_a_loss_has_the_true_gradient() -> None:
    x = sections.images(1, 3, 2, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(made(Shape(3, 2, 2), spatial=1, noloss=1), (x,))


def test_a_classifier_trains() -> None:
    network = sections.network(CLASSIFIER + "[softmax]\n")
    truths = torch.eye(3)[[0, 2]]
    images = sections.images(2, 3, 8, 8)
    first = network.losses(images, truths)[2]
    weight = network.layers[1].weight
    with torch.no_grad():
        weight -= 0.5 * weight.grad  # type: ignore[operator]
    assert network.losses(images, truths)[2].cost < first.cost
    assert first.delta.numel() == 0
    assert list(network.eval()(images)) == [2]


def test_the_truth_fits_the_outputs() -> None:
    network = sections.network(CLASSIFIER + "[softmax]\n")
    line = (
        r"x\.cfg:\d+: \[softmax\] has 3 outputs, but the truth has 4 classes\. "
        "Set the outputs of the layer before to 4"
    )
    with pytest.raises(CfgError, match=line):
        network.losses(sections.images(2, 3, 8, 8), torch.eye(4)[:2])


def test_the_row_of_the_table() -> None:
    row = "softmax" + " " * 40 + "1000"
    assert sections.spec("softmax", {}).row([Shape(1000, 1, 1)], Shape(1000, 1, 1)) == row


def test_groups_divide_the_inputs() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[softmax\] groups=4 does not divide 6 inputs\. Change one of th"):
        sections.spec("softmax", {"groups": 4}).output_shape([Shape(6, 1, 1)])


def test_a_tree_is_refused() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[softmax\] tree=a\.tree: not supported in this version of darkp"):
        sections.spec("softmax", {"tree": "a.tree"})
