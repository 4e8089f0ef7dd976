import math

import torch

from darkpy.layers._guard import drop, guarded_input, guarded_output, mend

BAD = torch.tensor([[1.0, math.nan], [math.inf, -math.inf]])


def test_mended_values_follow_their_place() -> None:
    assert mend(BAD).tolist() == [[1.0, 0.5], [torch.tensor(1 / 3).item(), 0.25]]


def test_dropped_values_are_0() -> None:
    assert drop(BAD).tolist() == [[1, 0], [0, 0]]


def test_an_outputs_gradient_is_held_within_1() -> None:
    x = BAD.clone().requires_grad_()
    output = guarded_output(x)
    assert torch.equal(output.detach(), mend(BAD))
    output.backward(torch.tensor([[0.5, 3.0], [-3.0, -0.5]]))
    assert x.grad is not None
    assert x.grad.tolist() == [[0.5, 1.0], [-1.0, -0.5]]


def test_an_inputs_gradient_has_only_numbers() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    guarded_input(x).backward(BAD)
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 0], [0, 0]]
