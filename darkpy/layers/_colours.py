"""Colours of many pictures at once: RGB to hue, saturation, value and back.

Source: darknet src/crop_layer_kernels.cu, rgb_to_hsv_kernel, hsv_to_rgb_kernel.
"""

import torch
from torch import Tensor


def jitter_colours(x: Tensor, saturation: Tensor, exposure: Tensor) -> Tensor:
    """Return pictures whose saturation and value are multiplied.

    Args:
        x: (B, 3, H, W) RGB.
        saturation: (B,) factors.
        exposure: (B,) factors.
    """
    value = x.amax(1)
    delta = value - x.amin(1)
    share = torch.where(value > 0, delta / value.clamp_min(torch.finfo(x.dtype).tiny), torch.zeros_like(value))
    share, new_value = share * saturation.view(-1, 1, 1), value * exposure.view(-1, 1, 1)
    # A colour is value (1 - share d), d from 0 (highest channel) to 1 (lowest): hue, and so d, stays.
    distance = torch.where(
        (delta > 0).unsqueeze(1),
        (value.unsqueeze(1) - x) / delta.clamp_min(torch.finfo(x.dtype).tiny).unsqueeze(1),
        torch.zeros_like(x),
    )
    return new_value.unsqueeze(1) * (1 - share.unsqueeze(1) * distance)
