"""What `cfg adapt` writes passes `cfg check`: nothing is found that was not found in the cfg it was made of."""

import os
from collections import Counter
from pathlib import Path

import pytest

from darkpy.blueprint import read_blueprint
from darkpy.cfg.adapt import Wishes, adapt
from darkpy.checks.cfg_check import check_cfg
from darkpy.diagnostics import Severity
from darkpy.errors import CfgError

pytestmark = [pytest.mark.reference, pytest.mark.slow]

LOADABLE = 56  # detectors that this version can run, among the reference's, the models' and the data sets'


def detectors(shared: Path) -> list[Path]:
    """The cfgs with a head."""
    found = [path for name in ("cfg-reference", "models", "data") for path in sorted((shared / name).rglob("*.cfg"))]
    return [
        path for path in found if any(head in path.read_bytes() for head in (b"yolo]", b"[region]", b"[detection]"))
    ]


def loads(path: Path) -> bool:
    try:
        read_blueprint(path)
    except CfgError:
        return False
    return True


def codes(path: Path) -> Counter[str]:
    return Counter(one.code for one in check_cfg(path))


def errors(path: Path) -> Counter[str]:
    return Counter(one.code for one in check_cfg(path) if one.severity is Severity.ERROR)


@pytest.mark.parametrize("classes", [1, 3, 80])
def test_an_adapted_cfg_passes_the_check(classes: int, shared: Path, tmp_path: Path) -> None:
    loadable = 0
    for path in detectors(shared):
        adapted = tmp_path / path.name
        text = adapt(os.fsdecode(path.read_bytes()), Wishes(classes=classes), path=str(path)).text
        adapted.write_bytes(os.fsencode(text))
        assert codes(adapted) <= codes(path), path.name
        if loads(path):
            loadable += 1
            assert errors(adapted) <= errors(path), path.name  # darknet loads some cfgs with too few anchors
            assert loads(adapted), path.name
    assert loadable == LOADABLE
