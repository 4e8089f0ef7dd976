""".weights files <-> Network.  Source: darknet src/parser.c, load_weights_upto, save_weights_upto.

Layout: int32 major, minor, revision; the images seen (uint64, or uint32 before version 0.2); then float32 values, layer
by layer in the order of each spec's ``blobs``. Little-endian, without names, lengths or checksum.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from darkpy.blueprint import LayerPlan
from darkpy.cfg.text import unreadable
from darkpy.errors import WeightsError
from darkpy.files import replaced
from darkpy.network import Network

_VERSION = (0, 2, 5)
_TRANSPOSED = 1000  # a version number above it marks the files of an old program
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class LoadedWeights:
    """What a weights file gave."""

    seen: int  # images that trained it
    is_seen_64: bool  # whether the header holds 64 bits of them
    layers: int  # layers loaded
    total_layers: int
    notes: tuple[str, ...]


def load_weights(network: Network, path: Path, *, leftover_is_error: bool) -> LoadedWeights:
    """Read a weights file into a network. A file may end after any layer: the rest keeps its values.

    Args:
        network: Its parameters and statistics are overwritten.
        path: The file.
        leftover_is_error: Whether values left over, or no numbers, are an error (training) or a note.

    Raises:
        WeightsError: If the file is missing, empty, no weights file, ends inside a layer, has values left over or
            values that are no numbers.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise WeightsError(unreadable(path, error)) from error
    header = _header(raw, path)
    start = header.length
    if (len(raw) - start) % 4:
        raise WeightsError(
            f"{path}: not a darknet weights file, or cut: {len(raw)} bytes are no header of {start} bytes "
            "and whole floats. Get the file again."
        )
    values = np.frombuffer(raw, dtype=_FLOAT, offset=start)
    layers, used = _fill(network, values, path, is_old=header.is_transposed)
    total = len(network.layers)
    notes = (
        [f"{path}: loaded {layers} of {total} layers; the others keep their initial values."] if layers < total else []
    )
    strange = used - int(np.isfinite(values[:used]).sum())
    if strange:
        message = f"{path}: {strange} of {used} values are no numbers: a training that went wrong wrote the file."
        if leftover_is_error:
            raise WeightsError(message + " Use an earlier file.")
        notes.append(message)
    if used < values.size:
        message = (
            f"{path}: {values.size - used} floats are left over after the {total} layers of {network.blueprint.path} "
            f"({used} floats): the file belongs to another network."
        )
        if leftover_is_error:
            raise WeightsError(message + " Use the cfg that it was trained with.")
        notes.append(message)
    return LoadedWeights(header.seen, header.is_seen_64, layers, total, tuple(notes))


class _Header(NamedTuple):
    seen: int
    is_seen_64: bool
    is_transposed: bool  # connected layers' weights stand column by column
    length: int  # bytes


def _header(raw: bytes, path: Path) -> _Header:
    """Return what the header says."""
    if not raw:
        raise WeightsError(f"{path}: empty file. Get the weights again.")
    if len(raw) >= 16:
        major, minor, revision = struct.unpack_from("<iii", raw)
        if all(-1000 <= number <= 2000 for number in (major, minor, revision)):
            is_transposed = major > _TRANSPOSED or minor > _TRANSPOSED
            if major * 10 + minor < 2:
                return _Header(struct.unpack_from("<I", raw, 12)[0], False, is_transposed, 16)
            if len(raw) >= 20:
                return _Header(struct.unpack_from("<Q", raw, 12)[0], True, is_transposed, 20)
            raise WeightsError(f"{path}: cut: {len(raw)} bytes, but its header alone has 20. Get the weights again.")
    raise WeightsError(
        f"{path}: not a darknet weights file: it does not begin with a version such as 0.2.5. Give a .weights file."
    )


@torch.no_grad()
def _fill(network: Network, values: np.ndarray, path: Path, *, is_old: bool) -> tuple[int, int]:
    """Copy values into the network; return the layers loaded and the floats used.

    Args:
        network: Its parameters and statistics are overwritten.
        values: All that the file holds.
        path: Of the file.
        is_old: Whether connected layers' weights stand column by column.
    """
    used = 0
    for plan, module in zip(network.blueprint.layers, network.layers, strict=True):
        blobs = _blobs_to_load(plan, module)
        columns = getattr(plan.spec, "transposed_blobs", None)
        transposed = {id(blob) for blob in columns(module, is_old=is_old)} if columns else set()
        wanted = sum(blob.numel() for blob in blobs)
        found = values.size - used
        if wanted and not found:
            return plan.index, used
        if wanted > found:
            raise WeightsError(
                f"{path}: ends inside layer {plan.index} ({plan.where}): it wants {wanted} floats, {found} are there. "
                "The file is cut, or belongs to another network."
            )
        for blob in blobs:
            part = torch.from_numpy(values[used : used + blob.numel()].astype(np.float32))
            if id(blob) in transposed:
                part = part.view(-1, blob.shape[0]).T
            blob.copy_(part.reshape(blob.shape))
            used += blob.numel()
    return len(network.layers), used


def _blobs_to_load(plan: LayerPlan, module: nn.Module) -> Sequence[Tensor]:
    """Return a layer's blobs without those that the file lacks, as ``dontload`` and ``dontloadscales`` say."""
    if plan.common.dontload:
        return ()
    of_scales = getattr(plan.spec, "scale_blobs", None)
    lacking = {id(blob) for blob in of_scales(module)} if of_scales and plan.common.dontloadscales else set()
    return [blob for blob in plan.spec.blobs(module) if id(blob) not in lacking]


def save_weights(network: Network, path: Path, *, seen: int, layers: int | None = None) -> None:
    """Write a weights file byte for byte as darknet does, whole or not at all.

    Args:
        network: The network.
        path: The file; an older one is replaced only when the new one is complete on disk.
        seen: Images that trained it.
        layers: Write only the first so many layers; None for all.

    Raises:
        WeightsError: If the file cannot be written; an older one is untouched.
    """
    try:
        with replaced(path) as file:
            write_weights(network, file, seen=seen, layers=layers)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_weights(network: Network, file: BinaryIO, *, seen: int, layers: int | None = None) -> str:
    """Write the bytes of a weights file; return their SHA-256 in hexadecimal digits.

    Args:
        network: The network.
        file: Where to.
        seen: Images that trained it.
        layers: Write only the first so many layers; None for all.

    Raises:
        OSError: If they cannot be written.
    """
    digest = hashlib.sha256()
    for part in _parts(network, seen=seen, layers=layers):
        file.write(part)
        digest.update(part)
    return digest.hexdigest()


def cannot_write(path: Path, error: OSError) -> WeightsError:
    """Return what to tell of a weights file that cannot be written."""
    return WeightsError(
        f"{path}: cannot write weights: {error.strerror or error}. Free space, or set another backup folder."
    )


def _parts(network: Network, *, seen: int, layers: int | None) -> Iterator[bytes]:
    yield struct.pack("<iiiQ", *_VERSION, seen)
    for plan, module in zip(network.blueprint.layers[:layers], network.layers, strict=False):
        for blob in plan.spec.blobs(module):
            yield _bytes(blob)


def _bytes(blob: Tensor) -> bytes:
    return blob.detach().cpu().contiguous().numpy().astype(_FLOAT).tobytes()
