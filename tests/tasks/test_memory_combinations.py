"""Every two settings of a run meet in some run, in every tier: the weights are those of tier 0."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest
from small_memory import use_small_memory
from stopping import run
from training_project import Project

TURNS = 25  # iterations of a walk: sizes change at 10 and 20
STOP = 13  # where a walk that is resumed stops
DROPOUT = "[dropout]\nprobability=.3\n"


class Walk(NamedTuple):
    """One run."""

    memory: str  # tier, and whether a file takes the place of RAM
    random: bool
    dropout: bool
    mosaic: bool
    with_map: bool
    resumed: bool

    @property
    def id(self) -> str:
        named = [name for name, value in zip(self._fields[1:], self[1:], strict=True) if value]
        return "-".join([f"tier {self.memory}", *named])


CHOICES: Sequence[Sequence[object]] = (("0", "1", "2", "2 file", "3", "3 file"), *[(False, True)] * 5)


def pairs(walk: Sequence[object]) -> set[tuple[int, object, int, object]]:
    """Return the pairs of settings that a run brings together."""
    return {(a, walk[a], b, walk[b]) for a, b in itertools.combinations(range(len(walk)), 2)}


def cover() -> Iterator[Walk]:
    """Yield few runs that bring every pair together: each time the one with most that were not."""
    rows = list(itertools.product(*CHOICES))
    missing = set().union(*map(pairs, rows))
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing))
        missing -= pairs(best)
        yield Walk(*best)  # type: ignore[arg-type]


WALKS = list(cover())


def write(project: Project, walk: Walk) -> None:
    """Write the cfg of a run."""
    tier, _, file = walk.memory.partition(" ")
    lines = [f"optimized_memory={tier}", "burn_in=3", "hue=.1", f"mosaic={int(walk.mosaic)}"]
    lines += ["offload_file=offload.bin"] if file else []
    project.write_cfg(net="\n".join(lines), head=f"random={int(walk.random)}", batch=8, max_batches=1000)
    text = project.cfg.read_text()
    if walk.dropout:
        text = text.replace("[convolutional]\nfilters", f"{DROPOUT}[convolutional]\nfilters")
    project.cfg.write_text(text)


def weights(project: Project, walk: Walk) -> bytes:
    """Walk, and return the last weights."""
    write(project, walk)
    options = {"threads": 1, "measure_map": walk.with_map, "map_every": 6}
    path = project.folder / "backup/net_last.weights"
    if walk.resumed:
        assert run(project, stop_after=STOP, **options) == 130
        assert run(project, path, stop_after=TURNS - STOP, **options) == 130
    else:
        assert run(project, stop_after=TURNS, **options) == 130
    content = path.read_bytes()
    for left in (project.folder / "backup").iterdir():
        left.unlink()
    return content


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        use_small_memory(patch)
        yield Project(folder)


def key(walk: Walk) -> tuple[bool, bool, bool, bool]:
    """Return what changes weights; a mAP does where sizes change, for training goes on at the cfg's own size."""
    return walk.random, walk.dropout, walk.mosaic, walk.with_map and walk.random


@pytest.fixture(scope="module")
def plain(project: Project) -> Mapping[tuple[bool, ...], bytes]:
    """Weights of whole runs in tier 0, by random, dropout, mosaic and whether mAPs come in between."""
    asked: dict[tuple[bool, ...], bytes] = {}
    for walk in WALKS:
        if key(walk) not in asked:
            asked[key(walk)] = weights(project, Walk("0", *key(walk), resumed=False))
    return asked


def test_few_runs_bring_every_two_settings_together() -> None:
    assert set().union(*map(pairs, WALKS)) == set().union(*map(pairs, itertools.product(*CHOICES)))
    assert len(WALKS) <= 14


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.id)
def test_the_weights_are_those_of_a_whole_run_in_tier_0(
    walk: Walk, project: Project, plain: Mapping[tuple[bool, ...], bytes]
) -> None:
    """A stop in between, the tier and the file change nothing; random, dropout and mosaic do."""
    assert len(set(plain.values())) == len(plain)
    assert weights(project, walk) == plain[key(walk)]
    assert not (project.folder / "offload.bin").exists()
