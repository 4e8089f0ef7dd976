"""scripts/example_torchvision.py does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_a_network_of_torchvision_trains_to_the_same_bits_in_every_tier(name: str, tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "scripts/example_torchvision.py"), name, "--size", "64", "--steps", "2"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.endswith("the same bits as tier 0") for line in lines[1:]] == [True] * 4
    kept, in_file = (
        [float(text) for text in re.findall(pattern, done.stdout)]
        for pattern in (r"([\d.]+) MB kept", r"at most ([\d.]+) MB in the file")
    )
    assert kept[0] > 1.3 * kept[1]
    assert kept[1] == kept[2] >= kept[3]
    assert in_file[:2] == [0, 0]
    assert min(in_file[2:]) > 0.8 * kept[3]
    assert list(tmp_path.iterdir()) == []
