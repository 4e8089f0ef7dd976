import re
from pathlib import Path
from typing import Any

import click
import pytest

from darkpy.cli._types import BYTES, BYTES_A_SECOND, CARD, DEVICE, FRACTION, GPU_LIST, POINTS, TFLOPS, WEIGHTS


@pytest.mark.parametrize(
    ("kind", "word", "value"),
    [
        (FRACTION, "0.25", 0.25),
        (FRACTION, ".5", 0.5),
        (FRACTION, "1e-3", 0.001),
        (FRACTION, "0", 0.0),
        (POINTS, "0", 0),
        (POINTS, "101", 101),
        (GPU_LIST, "0", (0,)),
        (GPU_LIST, "0,1, 3", (0, 1, 3)),
        (DEVICE, "cpu", "cpu"),
        (DEVICE, "cuda:1", "cuda:1"),
        (BYTES, "8GB", 8 * 10**9),
        (BYTES, "8", 8 * 10**9),
        (BYTES, "1.5 gib", 3 * 2**29),
        (BYTES, "500MB", 5 * 10**8),
        (BYTES, "2TB", 2 * 10**12),
        (CARD, "8GB", 8 * 2**30),
        (CARD, "8GiB", 8 * 2**30),
        (CARD, "512MB", 2**29),
        (BYTES_A_SECOND, "12GB/s", 12 * 10**9),
        (BYTES_A_SECOND, "448", 448 * 10**9),
        (BYTES_A_SECOND, 12 * 10**9, 12 * 10**9),
        (TFLOPS, "7.5", 7.5),
        (WEIGHTS, "backup/net_last.weights", Path("backup/net_last.weights")),
    ],
)
def test_good_words(kind: click.ParamType, word: Any, value: Any) -> None:
    assert kind.convert(word, None, None) == value


@pytest.mark.parametrize(
    ("kind", "word", "message"),
    [
        (FRACTION, "abc", "'abc' is no number. Write one from 0 to 1, such as 0.25."),
        (FRACTION, "50", "'50' is not between 0 and 1."),
        (FRACTION, "nan", "'nan' is not between 0 and 1."),
        (FRACTION, "-0.1", "'-0.1' is not between 0 and 1."),
        (POINTS, "1", "'1' is neither 0 (area under the curve) nor 2 or more, such as 11 or 101."),
        (POINTS, "-5", "'-5' is neither 0"),
        (GPU_LIST, "0;1", "'0;1' is no list of GPU numbers. Write 0 or 0,1 without blanks."),
        (GPU_LIST, "0,", "'0,' is no list of GPU numbers."),
        (GPU_LIST, "1,1", "'1,1' names a GPU twice."),
        (DEVICE, "gpu", "'gpu' is no device. Write cpu, cuda, cuda:N, mps, xpu or xpu:N."),
        (BYTES, "much", "'much' is no amount. Write a number and its unit, such as 8GB."),
        (BYTES, "8GB/s", "'8GB/s' is no amount."),
        (BYTES, "-8GB", "'-8GB' is no amount."),
        (BYTES, "0GB", "'0GB' is out of bounds. Write an amount such as 8GB."),
        (BYTES, "9999999999TB", "'9999999999TB' is out of bounds."),
        (BYTES_A_SECOND, "12Gb/s", "'12Gb/s': b are bits. Write bytes with a large B, such as 8GB/s."),
        (TFLOPS, "0", "'0' is not between 0.001 and 1e+06."),
        (WEIGHTS, "0.5", "'0.5' is a number and no weights file. -map takes no value; thresholds are -thresh 0.5"),
    ],
)
def test_bad_words_are_named(kind: click.ParamType, word: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=f"^{re.escape(message)}"):
        kind.convert(word, None, None)


def test_a_weights_file_may_be_called_like_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("0.5").touch()
    assert WEIGHTS.convert("0.5", None, None) == Path("0.5")
