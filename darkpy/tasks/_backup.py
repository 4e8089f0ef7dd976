"""The backup folder: checked before a run begins; what is written there never leaves less than was there before.

``NAME_last.weights`` and ``NAME_last.state`` are a pair. At every moment one state file belongs to the weights on disk:
the new weights are complete before the new state gets its name, and the state that it replaces is kept as
``NAME_last.state.old`` until the new weights have theirs.
"""

import os
from collections.abc import Callable
from pathlib import Path

from darkpy.errors import StateError, WeightsError
from darkpy.events import Line, Sink, WeightsSaved
from darkpy.files import free_name, replaced
from darkpy.network import Network
from darkpy.state import RunState, file_hash, weights_hash_in, write_state
from darkpy.weights import cannot_write, save_weights, write_weights


class Saver:
    """Writes a run's weights files, and the state beside the last one.

    Args:
        network: Whose weights.
        folder: The backup folder; one that vanished is made again.
        name: What the files are named after.
        seen: Images that trained the weights, asked at each save.
        state: What the run needs to go on exactly, asked at each save; None if there is nothing exact to tell.
        emit: Told of each file.
    """

    def __init__(
        self,
        network: Network,
        folder: Path,
        name: str,
        *,
        seen: Callable[[], int],
        state: Callable[[], RunState | None],
        emit: Sink,
    ) -> None:
        self.network = network
        self.folder = folder
        self.name = name
        self.seen = seen
        self.state = state
        self.emit = emit

    def __call__(self, suffix: str) -> None:
        """Write ``NAME_SUFFIX.weights``, and ``NAME_last.state`` for the suffix ``last``.

        Raises:
            WeightsError: If they cannot be written; older ones are untouched.
        """
        path = self.folder / f"{self.name}_{suffix}.weights"
        self.emit(WeightsSaved(path))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._write(path, suffix)

    def _write(self, path: Path, suffix: str) -> None:
        state = self.state() if suffix == "last" else None
        if state is None:
            save_weights(self.network, path, seen=self.seen())
        else:
            save_pair(self.network, path, state, seen=self.seen())
        if suffix == "ema":
            self.emit(Line(f" EMA weights are saved to the file: {path} "))

    def finish(self, suffix: str) -> None:
        """Write as ``__call__`` does; if the folder refuses, into the working directory rather than not at all.

        Raises:
            WeightsError: If that was needed, or failed too.
        """
        try:
            self(suffix)
        except WeightsError as error:
            rescued = Path(f"{self.name}_{suffix}.weights")
            if rescued.exists():
                rescued = free_name(rescued)
            self._write(rescued, suffix)
            raise WeightsError(f"{error} The weights are in {rescued.resolve()}.") from error


def save_pair(network: Network, path: Path, state: RunState, *, seen: int) -> None:
    """Write a weights file and the state that belongs to it; both or neither, and the state is there first.

    Args:
        network: The network.
        path: The weights file.
        state: What else the run knows.
        seen: Images that trained the weights.

    Raises:
        WeightsError: If one cannot be written; the former pair is untouched.
    """
    state_path = path.with_suffix(".state")
    try:
        with replaced(path) as file:
            weights_hash = write_weights(network, file, seen=seen)
            _keep_former(state_path, path)
            write_state(state_path, state, weights_hash=weights_hash)
        former_state(state_path).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def former_state(state_path: Path) -> Path:
    """Return where the state before the last one is kept while the new pair is incomplete."""
    return state_path.with_name(f"{state_path.name}.old")


def _keep_former(state_path: Path, weights: Path) -> None:
    """Move the state of the weights on disk out of the way; one that belongs to other weights may be replaced."""
    try:
        belongs = weights_hash_in(state_path) == file_hash(weights)
    except (OSError, StateError):
        return
    if belongs:
        os.replace(state_path, former_state(state_path))
