"""The adversarial delta against a loop over anchors."""

import math

import pytest
import torch

from darkpy.layers._adversarial import against


def _flipped(finds: list[bool]) -> list[float]:
    return [float(not is_found) for is_found in finds]


def test_every_anchor_agrees_with_the_rule() -> None:
    generator = torch.Generator().manual_seed(0)
    output, boxes = torch.rand(2, 5, 8, generator=generator), torch.rand(2, 5, 4, generator=generator)
    output[0, 0, 4] = 0.1  # nothing found
    chosen = torch.rand(2, 5, generator=generator) < 0.7
    chosen[0, :2] = True
    delta = torch.zeros(2, 5, 8)
    delta[..., 4] = -0.5 * output[..., 4]  # obj_normalizer 0.5
    found = against(output, boxes, delta, chosen)
    some = 0
    for image in range(2):
        for anchor in range(5):
            o, expected = output[image, anchor].tolist(), delta[image, anchor].tolist()
            if chosen[image, anchor]:
                g = math.sqrt(float(boxes[image, anchor, 2] * boxes[image, anchor, 3]))
                expected[4] = g * 0.5 * (0 - o[4])
                finds = [score * o[4] > 0.25 for score in o[5:]]
                some += any(finds)
                if any(finds):
                    expected[5:] = [g * (is_up - score) for score, is_up in zip(o[5:], _flipped(finds), strict=True)]
                    expected[:4] = [g * (0 - value) for value in o[:4]]
            assert found[image, anchor].tolist() == pytest.approx(expected, abs=1e-6)
    assert 0 < some < int(chosen.sum())
