"""What a run announces. A sink is any callable that takes an Event; sinks decide what to print, draw or store."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth a line on stderr."""

    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line that darknet prints on stdout while a key of [net] acts."""

    text: str


@dataclass(frozen=True, slots=True)
class NetworkResized:
    """A new network input size under ``random``, in pixels."""

    width: int
    height: int
    coefficient: float
    is_initial: bool = False  # the network's own size, for a mAP


@dataclass(frozen=True, slots=True)
class BatchLoaded:
    """The first mini-batch of an iteration is there."""

    seconds: float  # waited for it
    after_first: bool  # whether an iteration was trained before


@dataclass(frozen=True, slots=True)
class HeadTrained:
    """Figures of one detection head for one mini-batch, already divided as darknet prints them."""

    layer: int
    loss_name: str  # mse, iou or giou
    normalizers: tuple[float, float, float]  # iou, objectness, class
    average_iou: float
    count: int
    class_loss: float
    iou_loss: float
    total_loss: float
    detailed: bool = True  # show_details


@dataclass(frozen=True, slots=True)
class BoxesCounted:
    """Assignments of truths to anchors since the run began."""

    total: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class IterationTrained:
    """One weight update is done."""

    iteration: int  # counted from 1
    max_batches: int
    loss: float
    average_loss: float
    rate: float
    seconds: float  # without waiting for pictures
    images: int  # since iteration 1
    hours_left: float  # -1 until known
    next_map: int | None  # iteration of the next mAP, None without -map
    last_map: float  # 0..1; -1 until measured
    best_map: float  # 0..1; -1 until measured
    iou_threshold: float


@dataclass(frozen=True, slots=True)
class MemoryUsed:
    """What a run takes, in bytes."""

    iteration: int  # after which it was read
    width: int
    height: int
    tier: int
    weights: int
    momentum: int  # that is on the device
    device_peak: int | None  # None where nobody tells
    of_process: bool  # whether the peak is the whole process's: on a CPU
    arena: int  # of host memory that was in use at once
    blocks: int  # of host memory


@dataclass(frozen=True, slots=True)
class MapMeasured:
    """mAP on the valid list."""

    iteration: int
    mean_average_precision: float  # 0..1
    iou_threshold: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class WeightsSaved:
    """A weights file is about to be written."""

    path: Path


@dataclass(frozen=True, slots=True)
class TrainingEnded:
    """The loop is over."""

    iteration: int
    interrupted: bool


Event = (
    Note
    | Line
    | NetworkResized
    | BatchLoaded
    | HeadTrained
    | BoxesCounted
    | IterationTrained
    | MemoryUsed
    | MapMeasured
    | WeightsSaved
    | TrainingEnded
)
Sink = Callable[[Event], None]
