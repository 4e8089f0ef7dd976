"""The options of ``detector``: darknet's whole table, and darkpy's own.

Source: darknet src/detector.c, run_detector.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from darkpy.cli._notes import note
from darkpy.cli._types import ANY_INTEGER, DEVICE, FILE, FRACTION, GPU_LIST, NOT_NEGATIVE, POINTS, POSITIVE, SEED

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class DarknetOption:
    """One option; every command of ``detector`` takes it, some act on it."""

    name: str  # with one dash
    type: click.ParamType | None  # None: a flag
    default: Any
    used_by: str  # darkpy's commands that act on it, separated by blanks
    help: str
    parameter: str = ""  # the Python keyword; default: the name without dash
    darknet_uses: str = ""  # darknet's commands that act on it, where that differs
    advice: str = ""  # what to do instead, where it has no effect

    @property
    def keyword(self) -> str:
        """The keyword argument that carries the value."""
        return self.parameter or self.name.strip("-")


OPTIONS = (
    DarknetOption(
        "-thresh", FRACTION, 0.25, "train test map", "Detections below this probability do not count.", "threshold"
    ),
    DarknetOption("-hier", FRACTION, 0.5, "", "Nothing.", advice="darknet never uses it either"),
    DarknetOption(
        "-iou_thresh", FRACTION, 0.5, "train map", "IoU above which a detection matches a truth.", "iou_threshold"
    ),
    DarknetOption(
        "-points", POINTS, 0, "map", "Recall points of the AP: 0 is the area under the curve; 11, 101 or any n > 1."
    ),
    DarknetOption(
        "-letter_box",
        None,
        False,
        "test",
        "Keep the picture's aspect ratio.",
        darknet_uses="test demo draw",
        advice="set letter_box=1 in [net]",
    ),
    DarknetOption(
        "-ext_output", None, False, "test", "Print the box of each detection, in pixels.", darknet_uses="test demo"
    ),
    DarknetOption("-save_labels", None, False, "test", "Write detections as a label file beside each picture."),
    DarknetOption(
        "-out", FILE, None, "test valid", "test: JSON file of all detections; valid: what its files' names begin with."
    ),
    DarknetOption(
        "-dont_show", None, False, "train test calc_anchors", "Open no window.", darknet_uses="test train demo"
    ),
    DarknetOption("-benchmark", None, False, "", "Time one frame over and over.", darknet_uses="demo"),
    DarknetOption("-benchmark_layers", None, False, "", "Time each layer.", darknet_uses="test train demo"),
    DarknetOption("-map", None, False, "train", "Measure the mAP on the valid list while training.", "measure_map"),
    DarknetOption(
        "-mAP_epochs", POSITIVE, 4, "train", "Epochs between two mAPs (100 iterations at least).", "map_epochs"
    ),
    DarknetOption("-clear", None, False, "train", "Count iterations from 0, whatever the weights file says."),
    DarknetOption(
        "-gpus",
        GPU_LIST,
        None,
        "train test map valid recall",
        "CUDA device by number; one for now.",
        darknet_uses="train",
    ),
    DarknetOption("-show_imgs", None, False, "train", "Save every training picture with its boxes, as aug_*.jpg here."),
    DarknetOption(
        "-chart", FILE, None, "train", "Nothing: the curves of a run that goes on come from its _last.state."
    ),
    DarknetOption("-mjpeg_port", ANY_INTEGER, -1, "", "Port of an MJPEG stream.", darknet_uses="train demo"),
    DarknetOption("-json_port", ANY_INTEGER, -1, "", "Port of a JSON stream.", darknet_uses="demo"),
    DarknetOption("-json_file_output", FILE, None, "", "JSON file of all frames.", darknet_uses="demo"),
    DarknetOption("-out_filename", FILE, None, "", "Video file with boxes.", darknet_uses="demo"),
    DarknetOption("-prefix", click.STRING, None, "", "Name that saved frames begin with.", darknet_uses="demo"),
    DarknetOption("-c", NOT_NEGATIVE, 0, "", "Camera by number.", darknet_uses="demo"),
    DarknetOption("-s", NOT_NEGATIVE, 0, "", "Frames between two shown ones.", darknet_uses="demo"),
    DarknetOption("-avgframes", POSITIVE, 3, "", "Frames to average over.", darknet_uses="demo"),
    DarknetOption("-dontdraw_bbox", None, False, "", "Draw no boxes.", darknet_uses="demo"),
    DarknetOption("-time_limit_sec", NOT_NEGATIVE, 0, "", "Stop after so many seconds.", darknet_uses="demo"),
    DarknetOption("-http_post_host", click.STRING, None, "", "Host that gets the detections.", darknet_uses="demo"),
    DarknetOption("-num_of_clusters", POSITIVE, 5, "calc_anchors", "Number of anchors."),
    DarknetOption("-width", ANY_INTEGER, -1, "calc_anchors", "Network width, in pixels."),
    DarknetOption("-height", ANY_INTEGER, -1, "calc_anchors", "Network height, in pixels."),
    DarknetOption("-show", None, False, "calc_anchors", "Draw the cloud of boxes and anchors as cloud.png."),
    DarknetOption(
        "-i",
        click.IntRange(min=-1),
        0,
        "train test map valid recall",
        "As -gpus with one number; -1 is the CPU.",
        "gpu_index",
    ),
)
FOREIGN = (  # of other darknets and old scripts; AlexeyAB's ignores them
    DarknetOption("-nogpu", None, False, "", "Nothing.", advice="write -device cpu"),
    DarknetOption("-ext", None, False, "", "Nothing.", advice="boxes are printed by -ext_output"),
)
OWN = (
    DarknetOption("-coco", None, False, "map", "Print MS COCO's figures too: AP50:95 and its parts."),
    DarknetOption(
        "-device",
        DEVICE,
        None,
        "train test map valid recall",
        "cpu, cuda, cuda:N, mps or xpu; else the fastest there is.",
    ),
    DarknetOption("-threads", POSITIVE, None, "train test map valid recall", "CPU threads that PyTorch computes with."),
    DarknetOption(
        "-workers",
        NOT_NEGATIVE,
        None,
        "train map valid recall",
        "Processes that load pictures; 0 loads between the steps.",
    ),
    DarknetOption(
        "-save_every", POSITIVE, None, "train", "Iterations between two _last.weights (default: savelast, 100)."
    ),
    DarknetOption("-map_every", POSITIVE, None, "train", "Iterations between two mAPs, in place of -mAP_epochs."),
    DarknetOption("-seed", SEED, None, "train test calc_anchors", "Repeat a run: the same random choices."),
)


class WordOption(click.Option):
    """An option whose line of help shows the spelling with one dash."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the name with its value, and the help."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(f", -{self.opts[0]}", ""), record[1])


def word(
    name: str,
    kind: click.ParamType | None = None,
    *,
    keyword: str = "",
    default: Any = None,
    required: bool = False,
    help: str,
) -> Callable[[F], F]:
    """Return a decorator that declares one option of a command of darkpy's own, with one dash or two.

    Args:
        name: With one dash.
        kind: Of its value; None for a flag.
        keyword: The Python parameter; default: the name without dash.
        default: Of the value.
        required: Whether it must be there.
        help: Its line of ``--help``.
    """
    return click.option(
        name,
        f"-{name}",
        keyword or name.strip("-"),
        cls=WordOption,
        metavar="N" if isinstance(kind, click.IntRange) else None,
        type=kind,
        is_flag=kind is None,
        show_default=default is not None,
        required=required,
        **({} if required else {"default": False if kind is None else default}),  # a None would count as given
        help=help,
    )


def detector_options(command: str) -> Callable[[F], F]:
    """Return a decorator that declares every option for one command of ``detector``.

    Those that ``command`` acts on become keyword arguments; the others are taken, and announced when given.
    """

    def declare(function: F) -> F:
        for option in reversed((*OPTIONS, *OWN, *FOREIGN)):
            function = _declare(option, command)(function)
        return function

    return declare


def _declare(option: DarknetOption, command: str) -> Callable[[F], F]:
    used = command in option.used_by.split()
    integer = isinstance(option.type, type(click.INT))
    says_nothing = option.default in (None, -1) or option.keyword == "gpu_index"
    return click.option(
        option.name,
        f"-{option.name}",
        option.keyword,
        cls=WordOption,
        metavar="N" if integer else None,
        type=option.type,
        is_flag=option.type is None,
        default=None if option.keyword == "gpu_index" else option.default,
        show_default=option.type is not None and not says_nothing,
        help=option.help,
        hidden=not used,
        expose_value=used,
        callback=None if used else _announce(option, command),
    )


def _announce(option: DarknetOption, command: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def announce(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if given:
            missing = command in option.darknet_uses.split()
            where = "in this version of darkpy" if missing else f"on 'detector {command}'"
            note(f"{option.name} has no effect {where}{f': {option.advice}' if option.advice else ''}.")
        return value

    return announce
