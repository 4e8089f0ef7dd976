"""Pictures, truths and generators for tests of augmentation."""

import numpy as np


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def noise(height: int, width: int, channels: int = 3) -> np.ndarray:
    return rng().integers(0, 256, (height, width, channels), dtype=np.uint8)


def truth_rows(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, np.float32).reshape(-1, 5)
