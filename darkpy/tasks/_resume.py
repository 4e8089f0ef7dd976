"""Where a run begins: from chance, from weights as darknet does, or exactly where another one was stopped."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from darkpy.cfg.net import NetSpec
from darkpy.errors import StateError
from darkpy.network import Blueprint, Network
from darkpy.state import RunState, file_hash, read_state, weights_hash_in
from darkpy.tasks._network import read_weights, say


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins."""

    completed: int  # iterations that trained the weights
    state: RunState | None  # of the very moment; None begins momentum, random draws and averages anew


def read_start(network: Network, weights: Path | None, folder: Path, *, name: str, clear: bool) -> Start:
    """Read the weights to start from, and the state that belongs to them if there is one.

    Args:
        network: Takes the weights.
        weights: The file; None for random weights.
        folder: The backup folder; state files are looked for there and beside the weights.
        name: What the run's files are named after.
        clear: Forget the iterations that trained the weights, and the state.

    Raises:
        WeightsError: If the weights do not fit.
    """
    if weights is None:
        _tell_forgotten(folder, name)
        return Start(0, None)
    loaded = read_weights(network, weights, leftover_is_error=True)
    if clear:
        _tell_forgotten(folder, name)
    completed = 0 if clear else loaded.seen // network.net.images_per_iteration
    if completed >= network.net.max_batches:
        say(
            f"{weights}: trained for {completed} iterations, and max_batches={network.net.max_batches}: none is left. "
            "Raise max_batches, or count from 0 with -clear."
        )
    found = find_state(weights, folder)
    if found is None:
        return Start(completed, None)
    path, state = found
    if clear:
        say(f"{path}: not used, because of -clear.")
        return Start(completed, None)
    if state.figures.get("images_per_iteration") != network.net.images_per_iteration:
        say(
            f"{path}: not used: it was made with {state.figures.get('images_per_iteration')} images an iteration, now "
            f"there are {network.net.images_per_iteration} (batch, subdivisions in {network.blueprint.path})."
        )
        return Start(completed, None)
    say(f"{path}: belongs to these weights.")
    return Start(completed, state)


def find_state(weights: Path, folder: Path) -> tuple[Path, RunState] | None:
    """Return the state that was stored with these very weights, and its file."""
    candidates = list(_state_files(weights.parent, folder))
    if not candidates:
        return None
    wanted = file_hash(weights)
    for path in candidates:
        try:
            if weights_hash_in(path) == wanted:
                return path, read_state(path)
        except StateError as error:
            say(f"Note: {error}")
    return None


def _state_files(*folders: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in folders:
        for newest in sorted(folder.glob("*_last.state*")):
            if newest.suffix in (".state", ".old") and newest.resolve() not in seen:
                seen.add(newest.resolve())
                yield newest


def chosen_seed(seed: int | None, state: RunState | None, *, otherwise: int) -> int:
    """Return the seed of a run: the one asked for, else that of the run that goes on, else another."""
    stored = state.figures.get("seed") if state else None
    if seed is None:
        return stored if isinstance(stored, int) else otherwise
    if stored is not None and stored != seed:
        say(f"-seed {seed}: from here on other random draws than those of the run that goes on (seed {stored}).")
    return seed


def _tell_forgotten(folder: Path, name: str) -> None:
    last = folder / f"{name}_last.weights"
    if last.exists():
        say(
            f"Warning: iterations count from 0, and {last} of an earlier run will be overwritten. "
            "To go on from it, give it to the command, without -clear."
        )


def run_figures(net: NetSpec, *, seed: int) -> dict[str, object]:
    """Return what a state file tells beside what the trainer knows."""
    return {"seed": seed, "images_per_iteration": net.images_per_iteration}


def fingerprint(blueprint: Blueprint, train: Sequence[str], *, seed: int) -> str:
    """Return a hash of all that decides what iterations do: the cfg's values, the list of pictures, the seed.

    Where memory is kept changes no bit, nor does the line that a section stands on.
    """
    net = replace(blueprint.net, optimized_memory=0, offload_file="", workspace_size_limit_MB=None)
    layers = [(layer.kind, layer.spec, layer.common) for layer in blueprint.layers]
    text = re.sub(r"where='[^']*'", "", repr((net, layers, list(train), seed)))
    return hashlib.sha256(text.encode()).hexdigest()
