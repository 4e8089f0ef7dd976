"""How good the ``NAME_best.weights`` of an earlier run is, so that no worse one takes its place.

``NAME_best.map`` tells the mAP of the file beside it, by the file's hash.
"""

from pathlib import Path

from darkpy.files import free_name, replaced
from darkpy.report.rows import best_map_in
from darkpy.state import file_hash
from darkpy.tasks._network import say
from darkpy.weights import cannot_write

UNKNOWN = -1.0


class BestFile:
    """The best weights file of a run, and what is known of it.

    Args:
        folder: The backup folder.
        name: What the run's files are named after.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.weights = folder / f"{name}_best.weights"
        self.record = folder / f"{name}_best.map"
        self.rows = folder / f"{name}.csv"
        self._is_foreign = False

    def known_map(self, *, in_state: float) -> float:
        """Return the mAP (0..1) that a resumed run has to reach; -1 where there is no file, or nobody knows.

        A file that nobody knows is kept when a better one is due.

        Args:
            in_state: What the run's state says; -1 if it says nothing.
        """
        if not self.weights.exists():
            return UNKNOWN
        known = self._recorded()
        if known == UNKNOWN:
            known = max(in_state, best_map_in(self.rows))
        self._is_foreign = known == UNKNOWN
        return known

    def keep(self) -> None:
        """Keep the file of an earlier run, whatever its mAP, when this run's first best is due."""
        self._is_foreign = self.weights.exists()

    def _recorded(self) -> float:
        try:
            value, digest = self.record.read_text(encoding="ascii").split()
            return float(value) if digest == file_hash(self.weights) else UNKNOWN
        except (OSError, ValueError):
            return UNKNOWN

    def make_room(self) -> None:
        """Move a file of unknown mAP out of the way.

        Raises:
            WeightsError: If it cannot be moved.
        """
        if not self._is_foreign or not self.weights.exists():
            return
        kept = free_name(self.weights)
        try:
            self.weights.replace(kept)
        except OSError as error:
            raise cannot_write(self.weights, error) from error
        self._is_foreign = False
        say(f"{self.weights}: of an earlier run; it is kept as {kept.name}.")

    def note(self, value: float) -> None:
        """Record the mAP of the file that was just written.

        Raises:
            WeightsError: If that cannot be written.
        """
        try:
            digest = file_hash(self.weights)
            with replaced(self.record) as file:
                file.write(f"{value!r} {digest}\n".encode())
        except OSError as error:
            raise cannot_write(self.record, error) from error
