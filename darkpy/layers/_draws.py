"""Random numbers that depend only on an image's place in the training run and on the layer that draws them."""

import hashlib
import struct

import torch

from darkpy.layers._base import StepKey


def image_generator(key: StepKey, row: int, index: int, device: torch.device) -> torch.Generator:
    """Return the generator of image ``row`` of the mini-batch for layer ``index``.

    Args:
        key: Names the mini-batch.
        row: Of the image within it.
        index: Of the layer.
        device: Where the numbers are drawn.
    """
    words = (key.seed, key.iteration, key.first_row + row, index)
    digest = hashlib.blake2b(struct.pack("<4q", *words), digest_size=7).digest()
    return torch.Generator(device=device).manual_seed(int.from_bytes(digest, "little"))
