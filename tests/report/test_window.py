"""Windows (darkpy/report/window.py)."""

import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from darkpy.report import window
from darkpy.report.window import can_show, has_display, has_windows, show


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":98765"}, "linux", False),  # nobody listens there
        ({"DISPLAY": "elsewhere:0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_has_display(environment: dict[str, str], platform: str, expected: bool) -> None:
    assert has_display(environment, platform=platform) is expected


def test_opencv_without_windows_is_known() -> None:
    assert has_windows("  GUI:                           QT5\n    QT: YES\n")
    assert not has_windows("\n  GUI:                           NONE\n\n  Media I/O:\n")


def test_nothing_can_be_shown_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(os.environ, "DISPLAY", raising=False)
    monkeypatch.delitem(os.environ, "WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(window, "has_display", lambda environment: has_display(environment, platform="linux"))
    assert not can_show()


@pytest.mark.parametrize("channels", [1, 3])
def test_picture_is_shown_as_bgr_until_a_key_is_pressed(channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Any]] = []
    fake = SimpleNamespace(
        imshow=lambda name, image: calls.append((name, image[0, 0].tolist())),
        waitKey=lambda delay: calls.append(("key", delay)),
        destroyAllWindows=lambda: calls.append(("closed", None)),
    )
    monkeypatch.setattr(window, "import_cv2", lambda: fake)
    show("predictions", np.array([[[1, 2, 3][:channels]]], np.uint8))
    assert calls == [("predictions", [1] if channels == 1 else [3, 2, 1]), ("key", 0), ("closed", None)]
