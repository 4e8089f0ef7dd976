"""The yolo delta of ``adversarial_lr``: what turns a picture without truths against the boxes that a head finds.

Source: darknet src/yolo_layer.c, process_batch; src/network_kernels.cu.
"""

import torch
from torch import Tensor

_FOUND = 0.25  # a class whose probability is above it counts as found


def against(output: Tensor, boxes: Tensor, delta: Tensor, chosen: Tensor) -> Tensor:
    """Return the delta with the adversarial rule at the chosen anchors.

    Every part is weighted by the root of the box's area. Objectness goes down; classes that were found go down, and at
    such an anchor those below the limit go up and the box values go to 0.

    Args:
        output: (B, A, 5 + C), activated.
        boxes: (B, A, 4), relative to the network's input.
        delta: (B, A, 5 + C), with the objectness of every anchor.
        chosen: (B, A) anchors that match no truth.
    """
    scale = (boxes[..., 2] * boxes[..., 3]).sqrt().unsqueeze(-1)
    objectness, classes = output[..., 4:5], output[..., 5:]
    probability = classes * objectness
    found = probability > _FOUND
    any_found = found.any(-1, keepdim=True)
    raised = any_found & (probability < _FOUND)
    class_delta = torch.where(found, -classes, torch.where(raised, 1 - classes, torch.zeros_like(classes)))
    class_delta = torch.where(found | raised, scale * class_delta, delta[..., 5:])
    box_delta = delta[..., :4] - torch.where(any_found, scale * output[..., :4], torch.zeros_like(output[..., :4]))
    changed = torch.cat([box_delta, scale * delta[..., 4:5], class_delta], dim=-1)
    return torch.where(chosen.unsqueeze(-1), changed, delta)
