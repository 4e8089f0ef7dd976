"""Long runs in tier 3: what is alive stays what it was. They run in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from training_project import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc"),
]

LINES = "optimized_memory=3\noffload_file=spill.bin\nmosaic=1\nburn_in=5"
COUNTING = """
import gc, json, os, sys
from pathlib import Path
import torch
from darkpy.engine.trainer import Trainer
from darkpy.__main__ import main

report = Trainer._report

def counts(memory):
    gc.collect()
    tensors = {}
    for one in gc.get_objects():
        if type(one) in (torch.Tensor, torch.nn.Parameter) and one.dtype != torch.uint8:  # those: pictures to come
            tensors[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    arena = memory.arena
    return {
        "in use": arena.in_use, "blocks": arena.blocks, "peak": arena.peak, "slots": len(memory._offload._order),
        "tensors": sum(tensors.values()), "resident": pages * os.sysconf("SC_PAGE_SIZE"),
    }

def counted(self, *args):
    report(self, *args)
    if self.iteration in (100, 200):
        print("COUNTS", json.dumps(counts(self.around_step.__self__)), flush=True)
    if self.iteration == 200:
        sys.exit(0)

Trainer._report = counted
main()
"""


def run(project: Project, code: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=project.folder,
        env=os.environ | {"MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def test_what_is_alive_after_an_iteration_stays_the_same(project: Project) -> None:
    """At iterations 100 and 200, with random sizes and mAPs between; resident memory within 8 MB.

    The last 200 iterations of a run are all at the largest size, so that it must be a longer one.
    """
    project.write_cfg(batch=4, max_batches=500, net=LINES, head="random=1")
    words = "detector train obj.data net.cfg -device cpu -threads 1 -workers 1 -seed 5 -dont_show -map -map_every 20"
    out = run(project, COUNTING, *words.split())
    early, late = (json.loads(line[7:]) for line in out.splitlines() if line.startswith("COUNTS "))
    grown = late.pop("resident") - early.pop("resident")
    assert early.pop("peak") <= late.pop("peak")  # a larger size may come later
    assert late == early
    assert early["slots"] == 0
    assert early["in use"] > 0  # momentum, which rests there
    assert grown <= 8e6


TRAINING_ONCE = """
import ctypes, gc, os, sys
from pathlib import Path
import torch
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.layers._base import StepKey
from darkpy.memory.blocks import blocks_for
from darkpy.memory.tiers import TieredMemory
from darkpy.network import Network, read_blueprint

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

cpu, blueprint = torch.device("cpu"), read_blueprint(Path("net.cfg"))
images, truths = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 5)
truths[..., 4] = 0
for number in range(1, 1001):
    network = Network(blueprint)
    memory = TieredMemory(3, cpu, blocks=blocks_for(cpu, None), window=0)
    network.parking = memory.parking
    update = DarknetUpdate(network, rest=memory.rest)
    network.begin(StepKey(0, 0, 0))
    with memory.step():
        network.losses(images, truths)
    update.step(rate=1e-4, images=2, iteration=1)
    memory.close()
    del network, memory, update
    if number in (100, 1000):
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)  # lists of free memory grow until about the 1500th
        print(resident_mb())
"""


def test_1000_networks_that_were_trained_and_freed_leave_nothing_behind(project: Project) -> None:
    """Within 5 MB from the 100th to the 1000th."""
    early, late = map(float, run(project, TRAINING_ONCE).split())
    assert late - early <= 5, (early, late)
