"""A network that finds what it is told, and a working folder with pictures for it."""

from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch

from darkpy.structures import Detections, NmsRule

BOX = "0.5 0.5 0.25 0.25"


class FakeNetwork:
    """Finds one box of class 0 in every picture."""

    nms_rule = NmsRule()
    detection_layers = ((16, 28), (23, 28))
    blueprint = SimpleNamespace(bflops=1.0)

    def __init__(self, *, classes: int = 2, letter_box: bool = False) -> None:
        self.classes = classes
        self.net = SimpleNamespace(
            width=32, height=32, channels=3, letter_box=letter_box, learning_rate=0.00261, momentum=0.9, decay=0.0005
        )

    def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
        probabilities = torch.zeros(1, self.classes)
        probabilities[0, 0] = 0.9
        found = Detections(torch.tensor([[0.5, 0.5, 0.25, 0.25]]), torch.ones(1), probabilities)
        return [found] * len(images)


def make_folder(names: str, data: str = "") -> None:
    """Write into the current folder a picture of 40x40 with a label for each of ``names``, the list, and obj.data."""
    for name in names.split():
        cv2.imwrite(f"{name}.png", np.full((40, 40, 3), 60, np.uint8))
        Path(f"{name}.txt").write_text(f"0 {BOX}\n")
    Path("valid.txt").write_text("".join(f"{name}.png\n" for name in names.split()))
    Path("obj.names").write_text("cat\ntraffic light\n")
    Path("obj.data").write_text(f"valid = valid.txt\nnames = obj.names\n{data}")
