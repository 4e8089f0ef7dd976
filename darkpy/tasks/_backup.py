"""The backup folder: which files a run writes there, checked before it begins."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.errors import DataError
from darkpy.events import Sink, WeightsSaved
from darkpy.network import Network
from darkpy.weights import save_weights

_DEFAULT = "backup"


def base_name(cfg: Path) -> str:
    """Return what weights and charts of a cfg are named after: its name up to the first dot, as in darknet."""
    return cfg.name.partition(".")[0]


def backup_folder(data: DataFile, cfg: Path) -> Path:
    """Return the folder for weights; it is made if need be. Names that other runs may share are told on stderr.

    Raises:
        DataError: If it cannot be made or written to.
    """
    named = data.text("backup")
    folder = Path(os.path.expanduser(named or _DEFAULT))  # Path.expanduser raises for a name like ~a
    if named is None:
        print(f"{data.path}: no 'backup = ...' line; weights go to {folder}/", file=sys.stderr)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise DataError(
            f"{data.asked_by('backup')}: cannot make the folder {folder}: {why}. Name one that can be written."
        ) from error
    if not os.access(folder, os.W_OK):
        raise DataError(f"{data.asked_by('backup')}: the folder {folder} cannot be written. Name another one.")
    _tell_shared_names(folder, cfg)
    return folder


def _tell_shared_names(folder: Path, cfg: Path) -> None:
    base = base_name(cfg)
    if base == cfg.stem:
        return
    print(
        f"{cfg.name}: weights are named {base}_*.weights, as darknet cuts the name at its first dot.", file=sys.stderr
    )
    existing = sorted(folder.glob(f"{base}_*.weights"))
    if existing:
        print(
            f"Warning: {folder} has {len(existing)} such files ({existing[0].name}, ...), perhaps of another cfg; they "
            "will be overwritten. Set another backup folder to keep them.",
            file=sys.stderr,
        )


def saver(
    network: Network, folder: Path, cfg: Path, *, iteration: Callable[[], int], emit: Sink
) -> Callable[[str], None]:
    """Return the function that writes the weights file with a suffix, such as ``last``."""

    def save(suffix: str) -> None:
        path = folder / f"{base_name(cfg)}_{suffix}.weights"
        emit(WeightsSaved(path))
        save_weights(network, path, seen=iteration() * network.net.images_per_iteration)

    return save
