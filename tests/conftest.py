"""What all tests share: the folder of measured figures, and hypothesis's settings."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("darkpy", deadline=None, derandomize=True)  # the same inputs in every run, on any machine
settings.load_profile("darkpy")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of measured figures: $DARKPY_SHARED, else ``shared`` beside the project."""
    folder = Path(os.environ.get("DARKPY_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the measured figures are not there: {folder}")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long tests, for two processes to end together; skip ``gpu`` tests without a CUDA device."""
    items.sort(key=lambda item: ("soak" not in item.nodeid, item.get_closest_marker("slow") is None))
    of_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not of_gpu:
        return
    import torch

    if not torch.cuda.is_available():
        for item in of_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
