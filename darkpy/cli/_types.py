"""Parameter types: words of the command line that are checked before anything slow begins."""

import math
import re
from pathlib import Path
from typing import Any

import click


class Number(click.ParamType):
    """A finite number between two bounds. darknet reads ``abc`` as 0, which makes every cell a detection."""

    name = "number"

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that a word stands for."""
        try:
            number = float(value)
        except ValueError:
            self.fail(
                f"'{value}' is no number. Write one from {self.low:g} to {self.high:g}, such as 0.25.", param, ctx
            )
        if not math.isfinite(number) or not self.low <= number <= self.high:
            self.fail(f"'{value}' is not between {self.low:g} and {self.high:g}.", param, ctx)
        return number


class Points(click.ParamType):
    """Recall points of the average precision: 0 for the area under the curve, or 2 and more."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number that a word stands for."""
        text = str(value)
        if not text.isdecimal() or int(text) == 1:
            self.fail(f"'{value}' is neither 0 (area under the curve) nor 2 or more, such as 11 or 101.", param, ctx)
        return int(text)


class Amount(click.ParamType):
    """Bytes, or bytes a second: a number with its unit, as in ``8GB``, ``512 MiB`` or ``12GB/s``.

    Args:
        giga: Bytes of a GB: 10**9, or 2**30 where people say GB and mean GiB.
        per: What may follow the unit.
    """

    name = "amount"
    _POWERS = " KMGT"

    def __init__(self, *, giga: int = 10**9, per: str = "") -> None:
        self.thousand, self.per = round(giga ** (1 / 3)), per
        self._form = re.compile(rf"(\d*\.?\d+)\s*(?:([KMGT])(I?)B)?(?:{per})?", re.IGNORECASE)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes; a number without unit counts GB."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if re.search(r"[KMGT]i?b", text):
            self.fail(f"'{value}': b are bits. Write bytes with a large B, such as 8GB{self.per}.", param, ctx)
        found = self._form.fullmatch(text)
        if found is None:
            self.fail(f"'{value}' is no amount. Write a number and its unit, such as 8GB{self.per}.", param, ctx)
        number, power, binary = found.groups(default="")
        unit = (1024 if binary else self.thousand) ** self._POWERS.index((power or "G").upper())
        amount: int = round(float(number) * unit)
        if not 0 < amount < 2**60:
            self.fail(f"'{value}' is out of bounds. Write an amount such as 8GB{self.per}.", param, ctx)
        return amount


class GpuList(click.ParamType):
    """CUDA devices by number: ``0`` or ``0,1``."""

    name = "gpu_list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers of a comma list."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isdecimal() for word in words):
            self.fail(f"'{value}' is no list of GPU numbers. Write 0 or 0,1 without blanks.", param, ctx)
        numbers = tuple(int(word) for word in words)
        if len(set(numbers)) < len(numbers):
            self.fail(f"'{value}' names a GPU twice.", param, ctx)
        return numbers


class Device(click.ParamType):
    """A torch device by name."""

    name = "device"
    _FORM = re.compile(r"cpu|mps|(cuda|xpu)(:\d+)?")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, if it has the form of one."""
        if not self._FORM.fullmatch(str(value)):
            self.fail(f"'{value}' is no device. Write cpu, cuda, cuda:N, mps, xpu or xpu:N.", param, ctx)
        return str(value)


class WeightsFile(click.ParamType):
    """A .weights path; a lone number is the value of an option that takes none (``-map 0.5``)."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        path = Path(value)
        if not path.exists() and re.fullmatch(r"[+-]?[\d.]+(e-?\d+)?", str(value)):
            self.fail(
                f"'{value}' is a number and no weights file. -map takes no value; thresholds are -thresh {value} "
                f"and -iou_thresh {value}.",
                param,
                ctx,
            )
        return path


FRACTION = Number(0.0, 1.0)
TFLOPS = Number(0.001, 1e6)
BYTES = Amount()
CARD = Amount(giga=2**30)
BYTES_A_SECOND = Amount(per="/s")
POINTS = Points()
GPU_LIST = GpuList()
DEVICE = Device()
WEIGHTS = WeightsFile()
FILE = click.Path(path_type=Path, readable=False)  # whoever opens it says why it cannot
ANY_INTEGER = click.INT
NOT_NEGATIVE = click.IntRange(min=0)
SEED = click.IntRange(0, 2**63 - 1)
POSITIVE = click.IntRange(min=1)
