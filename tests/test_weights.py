"""Weights files (darkpy/weights.py)."""

import os
import re
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import sections
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sections import conv, lines, network

from darkpy import weights
from darkpy.errors import WeightsError
from darkpy.network import Network
from darkpy.weights import load_weights, save_weights

YOLO = lines("yolo", {"classes": 1, "num": 1, "anchors": "4,4", "jitter": 0.1})
# Layers 0 and 2 hold 4 * (3 * 9 + 4) = 124 and 6 * (4 + 1) = 30 floats, layer 4 6 * 6 + 6 = 42.
FIVE = (
    conv(filters=4, size=3, pad=1, batch_normalize=1)
    + lines("maxpool", {"size": 2, "stride": 2})
    + conv(filters=6)
    + lines("dropout", {"probability": 0.5})
    + conv(filters=6)
)
FLOATS = (124, 30, 42)


def written(path: Path, *, header: bytes = struct.pack("<iiiQ", 0, 2, 5, 640), floats: int = sum(FLOATS)) -> Path:
    """A weights file that holds 1, 2, 3, ..."""
    path.write_bytes(header + np.arange(1, floats + 1, dtype="<f4").tobytes())
    return path


def values(made: Network) -> np.ndarray:
    """All blobs in file order."""
    blobs = [b for plan, m in zip(made.blueprint.layers, made.layers, strict=True) for b in plan.spec.blobs(m)]
    return torch.cat([blob.detach().flatten() for blob in blobs]).numpy()


def state(made: Network) -> list[torch.Tensor]:
    return [value.clone() for value in made.state_dict().values()]


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "seen", "is_64"),
    [
        (struct.pack("<iiiQ", 0, 2, 5, 640), 640, True),
        (struct.pack("<iiiQ", 0, 2, 0, 2**40), 2**40, True),
        (struct.pack("<iiiQ", 1, 0, 0, 7), 7, True),
        (struct.pack("<iiiI", 0, 1, 0, 640), 640, False),
        (struct.pack("<iiiI", 0, 0, 0, 2**32 - 1), 2**32 - 1, False),
        (struct.pack("<iiiI", -1, 0, 3, 5), 5, False),
    ],
)
def test_headers_of_20_and_16_bytes(tmp_path: Path, header: bytes, seen: int, is_64: bool) -> None:
    """64 bits of images seen from version 0.2 on, 32 before."""
    made = network(FIVE)
    loaded = load_weights(made, written(tmp_path / "x.weights", header=header), leftover_is_error=True)
    assert (loaded.seen, loaded.is_seen_64) == (seen, is_64)
    assert (loaded.layers, loaded.total_layers, loaded.notes) == (5, 5, ())
    assert values(made).tolist() == list(range(1, sum(FLOATS) + 1))


def test_b02_five_thousand_million_images_seen(tmp_path: Path) -> None:
    """B02: kept in full; iteration 78125000 at a batch of 64."""
    header = struct.pack("<iiiQ", 0, 2, 5, 5_000_000_000)
    loaded = load_weights(network(FIVE), written(tmp_path / "x.weights", header=header), leftover_is_error=True)
    assert loaded.seen == 5_000_000_000
    assert loaded.seen // 64 == 78_125_000
    save_weights(network(FIVE), tmp_path / "y.weights", seen=loaded.seen)
    assert (tmp_path / "y.weights").read_bytes()[:20] == header


def test_order_of_a_normalised_convolution(tmp_path: Path) -> None:
    """Shifts first, then scales, means and variances, then the kernels, filter by filter."""
    made = network(FIVE)
    load_weights(made, written(tmp_path / "x.weights"), leftover_is_error=True)
    first = made.layers[0]
    names = ("bias", "scale", "rolling_mean", "rolling_variance")
    assert [getattr(first, name)[0].item() for name in names] == [1.0, 5.0, 9.0, 13.0]
    assert first.weight[1, 2, 0, 1].item() == 17 + 1 * 27 + 2 * 9 + 1


@pytest.mark.parametrize(
    ("floats", "layer", "wanted", "found"), [(50, 0, 124, 50), (123, 0, 124, 123), (125, 2, 30, 1), (195, 4, 42, 41)]
)
def test_b03_a_file_cut_inside_a_layer(tmp_path: Path, floats: int, layer: int, wanted: int, found: int) -> None:
    """B03: the line has the layer, the floats wanted and the floats there."""
    path = written(tmp_path / "x.weights", floats=floats)
    made = network(FIVE)
    where = made.blueprint.layers[layer].where
    line = re.escape(f"x.weights: ends inside layer {layer} ({where}): it wants {wanted} floats, {found} are there. ")
    with pytest.raises(WeightsError, match=line):
        load_weights(made, path, leftover_is_error=False)


@pytest.mark.parametrize(("floats", "layers"), [(0, 0), (124, 2), (154, 4)])
def test_b04_a_file_that_ends_on_a_layer_boundary(tmp_path: Path, floats: int, layers: int) -> None:
    """B04: loads what is there, says how much, and leaves the rest as it was; for training, too."""
    made = network(FIVE)
    before = values(made).copy()
    loaded = load_weights(made, written(tmp_path / "x.weights", floats=floats), leftover_is_error=True)
    assert (loaded.layers, loaded.total_layers) == (layers, 5)
    (note,) = loaded.notes
    assert note.endswith(f"x.weights: loaded {layers} of 5 layers; the others keep their initial values.")
    assert values(made)[:floats].tolist() == list(range(1, floats + 1))
    assert np.array_equal(values(made)[floats:], before[floats:])


def test_b04_a_part_that_darkpy_saved(tmp_path: Path) -> None:
    """B04: as made by ``partial ... 2``."""
    source = network(FIVE, seed=3)
    save_weights(source, tmp_path / "x.conv.2", seen=0, layers=2)
    assert (tmp_path / "x.conv.2").stat().st_size == 20 + 4 * 124
    made = network(FIVE)
    loaded = load_weights(made, tmp_path / "x.conv.2", leftover_is_error=True)
    assert loaded.notes[0].endswith("loaded 2 of 5 layers; the others keep their initial values.")
    assert np.array_equal(values(made)[:124], values(source)[:124])


def test_floats_left_over_are_noted_or_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "x.weights", floats=sum(FLOATS) + 3)
    loaded = load_weights(network(FIVE), path, leftover_is_error=False)
    line = "3 floats are left over after the 5 layers of x.cfg (196 floats): the file belongs to another network."
    assert [note.partition("x.weights: ")[2] for note in loaded.notes] == [line]
    with pytest.raises(
        WeightsError, match=r"x\.weights: 3 floats are left over .* Use the cfg that it was trained with\."
    ):
        load_weights(network(FIVE), path, leftover_is_error=True)


def test_values_that_are_no_numbers_are_noted_or_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "x.weights")
    raw = bytearray(path.read_bytes())
    raw[20:24] = struct.pack("<f", float("nan"))
    raw[24:28] = struct.pack("<f", float("inf"))
    path.write_bytes(raw)
    loaded = load_weights(network(FIVE), path, leftover_is_error=False)
    assert "2 of " in loaded.notes[0]
    with pytest.raises(WeightsError, match=r"2 of \d+ values are no numbers.*Use an earlier file"):
        load_weights(network(FIVE), path, leftover_is_error=True)


def test_b14_an_empty_file(tmp_path: Path) -> None:
    """B14: a download of zero bytes."""
    (tmp_path / "x.weights").touch()
    with pytest.raises(WeightsError, match=r"x\.weights: empty file\. Get the weights again\."):
        load_weights(network(FIVE), tmp_path / "x.weights", leftover_is_error=False)


@pytest.mark.parametrize(
    "raw",
    [
        b"classes= 1\ntrain = train.txt\nvalid = valid.txt\nnames = obj.names\n",
        b"x=1\n",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"PK\x03\x04" + bytes(100),
    ],
    ids=["data", "short text", "png", "zip"],
)
def test_b06_what_is_no_weights_file(tmp_path: Path, raw: bytes) -> None:
    """B06: a .data file given as weights."""
    (tmp_path / "obj.data").write_bytes(raw)
    made = network(FIVE)
    before = state(made)
    line = r"obj\.data: not a darknet weights file: it does not begin with a version such as 0\.2\.5\. Give a \.weights"
    with pytest.raises(WeightsError, match=line):
        load_weights(made, tmp_path / "obj.data", leftover_is_error=False)
    assert all(torch.equal(old, new) for old, new in zip(before, state(made), strict=True))


def test_a_file_cut_inside_its_header(tmp_path: Path) -> None:
    (tmp_path / "x.weights").write_bytes(struct.pack("<iiiI", 0, 2, 5, 0))
    line = r"x\.weights: cut: 16 bytes, but its header alone has 20\. Get the weights again\."
    with pytest.raises(WeightsError, match=line):
        load_weights(network(FIVE), tmp_path / "x.weights", leftover_is_error=False)


def test_a_file_cut_inside_a_float(tmp_path: Path) -> None:
    path = written(tmp_path / "x.weights")
    path.write_bytes(path.read_bytes()[:-1])
    line = r"x\.weights: not a darknet weights file, or cut: 803 bytes are no header of 20 bytes and whole floats\. Get"
    with pytest.raises(WeightsError, match=line):
        load_weights(network(FIVE), path, leftover_is_error=False)


def test_a_missing_file(tmp_path: Path) -> None:
    written(tmp_path / "x.weights")
    with pytest.raises(WeightsError, match=r"Couldn't open file: .*x\.weight: not found\. Did you mean .*x\.weights\?"):
        load_weights(network(FIVE), tmp_path / "x.weight", leftover_is_error=False)
    with pytest.raises(WeightsError, match=r"Couldn't open file: .*: it is a folder\. Name a file\."):
        load_weights(network(FIVE), tmp_path, leftover_is_error=False)


def test_a41_weights_do_not_depend_on_how_batch_norm_is_asked_for(tmp_path: Path) -> None:
    """A41: batch_normalize=2 and cbn=1 read four arrays before the kernels, as batch_normalize=1."""
    path = written(tmp_path / "x.weights", floats=7)
    found = []
    for asked in ({"batch_normalize": 1}, {"batch_normalize": 2}, {"cbn": 1}):
        made = network(conv(**asked))
        load_weights(made, path, leftover_is_error=True)
        found.append(made.eval()(sections.images(1, 3, 8, 8))[0])
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_normalize", [0, 1])
def test_b07_the_last_convolution_is_saved_too(tmp_path: Path, batch_normalize: int) -> None:
    """B07: no [yolo] behind it; 20 bytes and four for each value."""
    made = network(conv(filters=4) + conv(filters=5, batch_normalize=batch_normalize))
    save_weights(made, tmp_path / "x.weights", seen=64)
    raw = (tmp_path / "x.weights").read_bytes()
    count = 4 * 4 + 5 * 5 + (3 * 5 if batch_normalize else 0)
    assert len(raw) == 20 + 4 * count
    assert struct.unpack_from("<iiiQ", raw) == (0, 2, 5, 64)
    assert np.array_equal(np.frombuffer(raw, "<f4", offset=20), values(made))


def test_memory_order_does_not_matter(tmp_path: Path) -> None:
    plain = network(FIVE)
    save_weights(plain, tmp_path / "x.weights", seen=0)
    save_weights(network(FIVE).to(memory_format=torch.channels_last), tmp_path / "y.weights", seen=0)
    assert (tmp_path / "x.weights").read_bytes() == (tmp_path / "y.weights").read_bytes()
    made = network(FIVE, seed=9).to(memory_format=torch.channels_last)
    load_weights(made, tmp_path / "x.weights", leftover_is_error=True)
    assert np.array_equal(values(made), values(plain))


CONV = st.builds(
    conv,
    filters=st.sampled_from([2, 4]),
    size=st.sampled_from([1, 3]),
    pad=st.just(1),
    groups=st.sampled_from([1, 2]),
    batch_normalize=st.booleans().map(int),
)
SHORTCUT = st.sampled_from(["none", "per_layer", "per_channel"]).map(
    lambda kind: lines("shortcut", {"from": 0, "weights_type": kind, "weights_normalization": "softmax"})
)
OTHER = st.sampled_from(
    [lines("maxpool", {"size": 2, "stride": 1}), lines("route", {"layers": -1}), lines("dropout", {})]
)
LAYERS = st.lists(st.one_of(CONV, SHORTCUT, OTHER), max_size=6).map("".join)


@settings(max_examples=25)
@given(LAYERS, st.integers(0, 2**63))
def test_b08_load_then_save_gives_the_same_bytes(layers: str, seen: int) -> None:
    """B08: for any network, also with values that are no numbers."""
    made = network(conv(filters=4) + layers)
    content = np.random.default_rng(seen).normal(size=values(made).size).astype("<f4")
    content[:4] = (np.inf, np.nan, -0.0, 1e-42)
    raw = struct.pack("<iiiQ", 0, 2, 5, seen) + content.tobytes()
    with tempfile.TemporaryDirectory() as folder:
        given_file, again = Path(folder) / "x.weights", Path(folder) / "y.weights"
        given_file.write_bytes(raw)
        loaded = load_weights(made, given_file, leftover_is_error=False)  # strict loading refuses nan and inf
        save_weights(made, again, seen=loaded.seen)
        assert again.read_bytes() == raw
    assert loaded.layers == loaded.total_layers
    (note,) = loaded.notes
    assert f"2 of {content.size} values are no numbers" in note


def test_a_file_takes_its_place_only_when_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up in the second layer: the old file stands, and nothing else is left behind."""
    path = tmp_path / "x.weights"
    path.write_bytes(b"old")
    blobs = []

    def full(blob: torch.Tensor) -> bytes:
        blobs.append(blob)
        if len(blobs) > 6:
            raise OSError(28, "No space left on device")
        return blob.detach().numpy().tobytes()

    monkeypatch.setattr(weights, "_bytes", full)
    line = r"x\.weights: cannot write weights: No space left on device\. Free space, or set another backup folder\."
    with pytest.raises(WeightsError, match=line):
        save_weights(network(FIVE), path, seen=0)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.weights"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_others_may_read_the_file_as_they_may_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    save_weights(network(FIVE), tmp_path / "x.weights", seen=0)
    assert (tmp_path / "x.weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    line = r"gone/x\.weights: cannot write weights: No such file or directory\. Free space, or set another"
    with pytest.raises(WeightsError, match=line):
        save_weights(network(FIVE), tmp_path / "gone" / "x.weights", seen=0)


# --- files that hold less, or hold it by columns ----------------------------------------------------------------------

CONNECTED = lines("connected", {"output": 5, "batch_normalize": 1}) + lines("connected", {"output": 2})


@pytest.mark.parametrize(("version", "by_column"), [((0, 2, 5), False), ((0, 1001, 0), True), ((1001, 0, 0), True)])
def test_old_files_hold_connected_weights_by_column(
    tmp_path: Path, version: tuple[int, int, int], by_column: bool
) -> None:
    made = network(CONNECTED, width=2, height=2)
    first = 5 * (12 + 4)
    path = written(tmp_path / "a.weights", header=struct.pack("<iiiQ", *version, 0), floats=first + 2 * (5 + 1))
    load_weights(made, path, leftover_is_error=True)
    numbers = np.arange(1, first + 13, dtype=np.float32)
    assert made.layers[0].bias.tolist() == numbers[:5].tolist()
    weights_of_first = numbers[5:65].reshape(12, 5).T if by_column else numbers[5:65].reshape(5, 12)
    assert np.array_equal(made.layers[0].weight.detach().numpy(), weights_of_first)
    assert made.layers[0].scale.tolist() == numbers[65:70].tolist()  # batch norm stands behind the weights
    assert made.layers[0].rolling_mean.tolist() == numbers[70:75].tolist()
    assert made.layers[0].rolling_variance.tolist() == numbers[75:80].tolist()
    rest = numbers[82:]
    assert np.array_equal(
        made.layers[1].weight.detach().numpy(), rest.reshape(5, 2).T if by_column else rest.reshape(2, 5)
    )
    save_weights(made, tmp_path / "b.weights", seen=0)
    again = network(CONNECTED, width=2, height=2)
    load_weights(again, tmp_path / "b.weights", leftover_is_error=True)
    assert np.array_equal(values(again), values(made))  # written row by row


def test_flipped_convolutions_are_read_by_column(tmp_path: Path) -> None:
    made = network(conv(filters=4, size=3, flipped=1))
    load_weights(made, written(tmp_path / "a.weights", floats=4 * 28), leftover_is_error=True)
    numbers = np.arange(5, 5 + 4 * 27, dtype=np.float32)
    assert np.array_equal(made.layers[0].weight.detach().numpy().reshape(4, 27), numbers.reshape(27, 4).T)


def test_a_file_has_nothing_for_layers_that_are_not_loaded_and_gets_all_when_saved(tmp_path: Path) -> None:
    made = network(conv(filters=2) + conv(filters=3, dontload=1) + conv(filters=2))
    before = made.layers[1].weight.detach().clone()
    load_weights(made, written(tmp_path / "a.weights", floats=2 * 4 + 2 * 4), leftover_is_error=True)
    assert torch.equal(made.layers[1].weight, before)
    assert made.layers[2].bias.tolist() == [9.0, 10.0]
    save_weights(made, tmp_path / "b.weights", seen=0)
    assert (tmp_path / "b.weights").stat().st_size == 20 + 4 * (8 + 9 + 8)


@pytest.mark.parametrize("kind", ["convolutional", "connected"])
def test_a_file_may_lack_scales_and_statistics(tmp_path: Path, kind: str) -> None:
    key = {"convolutional": "filters", "connected": "output"}[kind]
    made = network(lines(kind, {key: 2, "batch_normalize": 1, "dontloadscales": 1}), width=1, height=1)
    (layer,) = made.layers
    before = [layer.scale.detach().clone(), layer.rolling_mean.clone(), layer.rolling_variance.clone()]
    load_weights(made, written(tmp_path / "a.weights", floats=2 * 4), leftover_is_error=True)
    assert torch.cat([layer.bias, layer.weight.flatten()]).tolist() == list(range(1, 9))
    after = [layer.scale, layer.rolling_mean, layer.rolling_variance]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert values(made).size == 2 * 7


def test_local_batchnorm_and_connected_layers_take_as_much_as_in_the_reference(tmp_path: Path) -> None:
    local = lines("local", {"filters": 2, "size": 3, "pad": 1})
    made = network(local + lines("batchnorm", {}) + CONNECTED, width=3, height=2)
    save_weights(made, tmp_path / "a.weights", seen=0)
    floats = 2 * 6 + 6 * 2 * 27 + 4 * 2 + 5 * (12 + 4) + 2 * (5 + 1)
    assert (tmp_path / "a.weights").stat().st_size == 20 + 4 * floats
