"""[cost]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape
from darkpy.layers.cost import Cost

EXAMPLE = ({"type": "smooth"}, (Shape(6, 1, 1),))
X = torch.tensor([[0.5, -2.0, 3.0, 0.25]]).view(1, 4, 1, 1)
TRUTH = torch.tensor([[1.0, 1.0, -1234.0, 0.25]])
DIFFERENCE = np.array([0.5, 3.0, -1237.0, 0.0])


def made(**values: object) -> Cost:
    module = sections.spec("cost", values).build([Shape(4, 1, 1)])
    assert isinstance(module, Cost)
    return module


def test_the_square_of_the_difference() -> None:
    loss = made(type="sse", scale=2).loss(X, TRUTH, (1, 1))
    assert loss.cost.item() == pytest.approx((DIFFERENCE**2).sum())
    assert loss.delta.flatten().tolist() == pytest.approx(list(2 * DIFFERENCE))


def test_masked_leaves_values_out() -> None:
    before = X.clone()
    loss = made(type="masked").loss(X, TRUTH, (1, 1))
    assert loss.cost.item() == pytest.approx(9.25)
    assert loss.delta.flatten().tolist() == pytest.approx([0.5, 3.0, 0.0, 0.0])
    assert torch.equal(X, before)


def test_smooth_grows_slowly_beyond_1() -> None:
    loss = made(type="smooth").loss(X, TRUTH, (1, 1))
    assert loss.cost.item() == pytest.approx(0.25 + 5.0 + 2473.0)
    assert loss.delta.flatten().tolist() == pytest.approx([0.5, 1.0, -1.0, 0.0])


def test_its_output_is_not_the_networks() -> None:
    network = sections.network("[avgpool]\n[softmax]\n[cost]\ntype=sse\n")
    assert network.loss_indices == (1, 2)
    assert list(network.eval()(sections.images(1, 3, 8, 8))) == [1]
    assert network.eval().layers[2](X).unique().tolist() == [0.0]
    assert sorted(network.train()(sections.images(1, 3, 8, 8))) == [1, 2]


def test_adversarial_delta_is_that_without_a_truth() -> None:
    assert torch.equal(made().loss(X, torch.zeros(1, 1, 5), (1, 1), adversarial=True).delta, -X)


def test_a_ratio_is_said_to_have_no_effect() -> None:
    options = sections.options("cost", {"type": "sse", "ratio": 0.5})
    type(sections.spec("cost", {})).parse(options)
    assert options.notes == ["x.cfg:12: [cost] ratio has no effect, as in darknet."]


def test_an_unknown_type_is_refused() -> None:
    line = r"x\.cfg:11: \[cost\] type=smoth: unknown value\. Use one of: sse, masked, smooth\. Did you mean smooth\?"
    with pytest.raises(CfgError, match=line):
        sections.spec("cost", {"type": "smoth"})


def test_the_row_of_the_table() -> None:
    assert sections.spec("cost", {}).row([Shape(1000, 1, 1)], Shape(1000, 1, 1)) == "cost" + " " * 43 + "1000"
