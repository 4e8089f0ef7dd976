"""What a section type is: its spec, its shape, its module and its place in the weights file; and their registry."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.cfg.text import Section
from darkpy.errors import CfgError


class Shape(NamedTuple):
    """Output of a layer for one image."""

    channels: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """Number of values for one image."""
        return self.channels * self.height * self.width

    def __str__(self) -> str:
        return f"{self.width:4d} x{self.height:4d} x{self.channels:4d}"


@dataclass(frozen=True, slots=True)
class ParameterRule:
    """How the weight update treats a parameter."""

    decay: bool = False  # weight decay acts on it
    clamp_update: float | None = None  # bound of the accumulated update before it is applied
    clip: float = 0.0  # bound of the values after an update; 0 for none
    centralize: bool = False  # the accumulated update's mean over each filter is taken out before an update
    of_convolution: bool = False  # adam and ema_alpha act on these alone


@dataclass(frozen=True, slots=True)
class StepKey:
    """Names the images of one forward pass, for random draws that depend on nothing else."""

    seed: int
    iteration: int  # completed iterations
    first_row: int  # of this mini-batch within the iteration's images


class WrongChannels(Exception):
    """A head's input has another number of channels than it needs. The network's builder names the layer to mend."""

    def __init__(self, needed: int, reason: str, *, found: int) -> None:
        super().__init__(f"needs {needed} = {reason}")
        self.needed = needed
        self.found = found
        self.reason = reason


class LayerSpec(Protocol):
    """One section of a cfg as typed values. Implementations are frozen dataclasses."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read the section's options.

        Raises:
            CfgError: If an option cannot be used.
        """

    def sources(self, index: int) -> tuple[int, ...]:
        """Return the layers that layer ``index`` reads, in the order its module takes them; -1 is the picture."""

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape for the shapes of the sources.

        Raises:
            CfgError: If the inputs do not fit.
            WrongChannels: If a head needs another number of channels.
        """

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        """Return the module; it takes one (B, C, H, W) tensor for each source and returns one."""

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        """Return the tensors that a weights file holds for this layer, in file order."""

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        """Return how the weight update treats each parameter."""

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        """Return the layer's row in the table printed at load, as darknet prints it, without the index."""

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        """Return billions of floating point operations for one image, as darknet counts them."""


class PlainSpec:
    """What a section does unless its spec says otherwise: it reads the layer before, and has no weights."""

    __slots__ = ()

    def sources(self, index: int) -> tuple[int, ...]:
        """As in ``LayerSpec``."""
        return (index - 1,)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        """As in ``LayerSpec``."""
        return ()

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        """As in ``LayerSpec``."""
        return ()

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        """As in ``LayerSpec``."""
        return 0.0


SpecClass = TypeVar("SpecClass", bound=type)
_REGISTRY: dict[str, type[LayerSpec]] = {}

# Section types of darknet that this version does not have yet.
_LATER = (  # a blank between names
    "contrastive implicit rnn crnn gru lstm conv_lstm history detection region Gaussian_yolo"
)


def layer(*names: str) -> Callable[[SpecClass], SpecClass]:
    """Register a spec class for the section ``[names[0]]`` and its other spellings.

    Raises:
        ValueError: If a name is taken.
    """

    def register(spec: SpecClass) -> SpecClass:
        for name in names:
            if name in _REGISTRY:
                raise ValueError(f"two section types claim the name [{name}]: {_REGISTRY[name]} and {spec}")
            _REGISTRY[name] = spec
        spec.kind = names[0]  # type: ignore[attr-defined]  # the canonical name, for whoever shows it
        return spec

    return register


def spec_class(section: Section) -> type[LayerSpec]:
    """Return the spec class of a section.

    Raises:
        CfgError: If darkpy does not know the section type.
    """
    where = f"{section.path}:{section.line}"
    found = _REGISTRY.get(section.kind)
    if found is not None:
        return found
    if section.kind in ("net", "network"):
        raise CfgError(f"{where}: a second [{section.kind}]: two cfg files in one? Keep one [net], at the top.")
    if section.kind in _LATER.split():
        raise CfgError(
            f"{where}: [{section.kind}] is not supported in this version of darkpy. "
            f"Supported: {', '.join(sorted(_REGISTRY))}."
        )
    near = difflib.get_close_matches(section.kind, [*_REGISTRY, *_LATER.split()], n=1)
    mend = f"Did you mean [{near[0]}]?" if near else f"Use one of: {', '.join(sorted(_REGISTRY))}."
    raise CfgError(f"{where}: Type not recognized: [{section.kind}]. {mend}")


def registered() -> dict[str, type[LayerSpec]]:
    """Return the spec class of each section name, other spellings included."""
    return dict(_REGISTRY)


def total_stride(length: int, padding: int, size: int, stride: int) -> int:
    """Return the output length of a sliding window, with C's division towards zero.

    Args:
        length: Input length in pixels.
        padding: Padding of both sides together, in pixels.
        size: Window length in pixels.
        stride: Step in pixels.
    """
    return int((length + padding - size) / stride) + 1
