"""Sections, layers and networks of a few lines, made without a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from darkpy.cfg.options import Options
from darkpy.cfg.text import Entry, Section, parse_sections
from darkpy.layers._base import LayerSpec, spec_class
from darkpy.network import Network, plan_network

PATH = Path("x.cfg")
LINE = 10  # of the [kind] line that ``section`` makes; its options follow, one a line
INDEX = 5  # of the layer that ``options`` and ``spec`` make
NET = "[net]\nbatch=2\nsubdivisions=1\nwidth={width}\nheight={height}\nchannels=3\nmax_batches=10\nlearning_rate=.001\n"

Values = Mapping[str, object]


def section(kind: str, values: Values) -> Section:
    """A section whose options stand in the lines after line 10 of x.cfg."""
    entries = (Entry(key, str(value), LINE + number) for number, (key, value) in enumerate(values.items(), start=1))
    return Section(kind, LINE, str(PATH), tuple(entries))


def options(kind: str, values: Values, index: int = INDEX) -> Options:
    """The options of such a section, as layer 5."""
    return Options(section(kind, values), index=index)


def spec(kind: str, values: Values, index: int = INDEX) -> LayerSpec:
    """A layer's typed values."""
    made = options(kind, values, index)
    return spec_class(made.section).parse(made)


def network(layers: str, *, width: int = 8, height: int = 8, seed: int = 0, path: Path = PATH) -> Network:
    """A network of these sections with weights, batch norm statistics and shifts that differ between channels."""
    text = NET.format(width=width, height=height) + layers
    generator = torch.Generator().manual_seed(seed)
    made = Network(plan_network(parse_sections(text.split("\n"), str(path)), path))
    with torch.no_grad():
        for name, value in made.state_dict().items():
            low = 0.5 if name.endswith(("scale", "variance")) else -0.5
            value.copy_(torch.rand(value.shape, generator=generator) + low)
    return made


def images(*shape: int, seed: int = 1) -> torch.Tensor:
    """Uniform numbers in 0..1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def conv(**values: object) -> str:
    """A [convolutional] section of one 1x1 filter, linear, unless told otherwise."""
    return lines("convolutional", {"filters": 1, "size": 1, "stride": 1, "activation": "linear", **values})


def lines(kind: str, values: Values) -> str:
    """The text of a section."""
    return f"[{kind}]\n" + "".join(f"{key}={value}\n" for key, value in values.items())


def text(*sections: str | Sequence[str]) -> str:
    """The text of sections one after the other."""
    return "".join(part if isinstance(part, str) else "".join(part) for part in sections)
