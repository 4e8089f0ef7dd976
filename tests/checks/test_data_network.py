"""What a network's file says about boxes (darkpy/checks/data_network.py)."""

from pathlib import Path

import pytest
from clean_data import CFG, checked, write_cfg, write_clean_set

from darkpy.blueprint import read_blueprint
from darkpy.checks.data_network import network_facts, read_network
from darkpy.diagnostics import Severity


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clean_set()


def test_facts_of_a_network() -> None:
    write_cfg(width=96)
    facts = network_facts(read_blueprint(Path("net.cfg")), "net.cfg")
    assert (facts.grid.width, facts.grid.height, facts.grid.stride, facts.classes) == (96, 64, 2, 2)
    assert facts.anchors.tolist() == [[16, 22], [19, 26]]


def test_a_network_without_heads_has_neither_anchors_nor_classes() -> None:
    text = CFG.format(width=64, height=64, channels=3, anchors="1,1")
    Path("net.cfg").write_text(text[: text.index("[yolo]")])
    facts = network_facts(read_blueprint(Path("net.cfg")), "net.cfg")
    assert facts.classes is None
    assert len(facts.anchors) == 0
    assert checked().diagnostics == ()


def test_a_cfg_that_cannot_be_used_is_a_finding() -> None:
    Path("net.cfg").write_text("[net]\nwidth=64\nheight=64\nchannels=3\n[reorg4d]\n")
    facts, (one,) = read_network(Path("net.cfg"))
    assert facts is None
    assert (one.severity, one.code, one.path, one.line) == (Severity.ERROR, "cfg", "net.cfg", 5)
