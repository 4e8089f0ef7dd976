"""A window on the screen, where there is a screen."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.data.image import import_cv2


def has_display(environment: Mapping[str, str], *, platform: str = sys.platform) -> bool:
    """Return whether a window can be opened; without a display OpenCV would end the whole program.

    Args:
        environment: The process's environment.
        platform: As ``sys.platform``.
    """
    if not platform.startswith("linux"):
        return True
    if environment.get("WAYLAND_DISPLAY"):
        return True
    display = environment.get("DISPLAY", "")
    if display.startswith(":"):  # of this machine: its socket must be there
        return Path(f"/tmp/.X11-unix/X{display[1:].partition('.')[0]}").exists()
    return bool(display)


def has_windows(build_information: str) -> bool:
    """Return whether an OpenCV was built with windows; opencv-python-headless was not.

    Args:
        build_information: What ``cv2.getBuildInformation`` says.
    """
    return re.search(r"^\s*GUI:\s*NONE\s*$", build_information, re.MULTILINE) is None


def can_show() -> bool:
    """Return whether ``show`` can open a window here."""
    return has_display(os.environ) and has_windows(import_cv2().getBuildInformation())


def show(name: str, image: NDArray[np.uint8]) -> None:
    """Show a picture until a key is pressed. Call it only where ``can_show``.

    Args:
        name: Title of the window.
        image: (H, W, 3) RGB or (H, W, 1) grey.
    """
    cv2 = import_cv2()
    bgr = image[:, :, ::-1] if image.shape[2] == 3 else image
    cv2.imshow(name, np.ascontiguousarray(bgr))
    cv2.waitKey(0)
    cv2.destroyAllWindows()
