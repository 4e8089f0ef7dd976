"""``darkpy``: the commands, and how a run ends (exit status and last line)."""

import os
import re
import sys
from collections.abc import Sequence

import click

from darkpy import __version__
from darkpy.cli._darknet import DarknetGroup, darknet_settings
from darkpy.cli.cfg import cfg
from darkpy.cli.data import data
from darkpy.cli.detector import detector
from darkpy.errors import DarkpyError, SetupError

_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[.\d]*): cannot open shared object file")
_OF_OPENCV = ("libGL", "libgthread", "libglib", "libxcb", "libSM", "libX")


class DarkpyGroup(DarknetGroup):
    """The first words of the command line."""

    absent = (
        "detect classifier classify average partial oneoff rescale rgbgr denormalize reset normalize statistics ops "
        "speed visualize imtest test 3d rnn vid yolo coco nightmare tag cifar go art super voxel writing captcha dice "
        "compare"
    ).split()
    elsewhere = {name: f"detector {name}" for name in ("train", "map", "test")}  # noqa: RUF012 - never written to


@click.group(cls=DarkpyGroup, context_settings=darknet_settings())
@click.version_option(__version__, "-version", "--version", prog_name="darkpy", message="%(prog)s %(version)s")
def darkpy() -> None:
    """Check, train, test and measure YOLO detectors from darknet's files, with darknet's numbers, on PyTorch.

    Options stand anywhere, with one dash or two: darkpy detector -map train obj.data obj.cfg
    """


for command in (detector, cfg, data):
    darkpy.add_command(command)


def run(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status.

    0 is success, 1 a mistake in a file (one line on stderr says which), 2 a mistake in the command line,
    130 Ctrl-C. A bug shows its traceback.

    Args:
        words: The command line without the program's name; None takes the process's own.
    """
    try:
        status = darkpy.main(words if words is None else list(words), "darkpy", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # click's form of KeyboardInterrupt
        return 130
    except DarkpyError as error:
        return _report(error)
    except ImportError as error:
        missing = missing_library(error)
        if missing is None:
            raise
        return _report(missing)
    return status if isinstance(status, int) else 0


def _report(error: DarkpyError) -> int:
    click.echo(f"Error: {error}", err=True)
    return 1


def missing_library(error: ImportError) -> SetupError | None:
    """Return the error to show if a system library that opencv-python needs is missing, else None."""
    found = _LIBRARY.search(str(error))
    if found is None or not found[1].startswith(_OF_OPENCV):
        return None
    return SetupError(
        f"opencv-python needs the system library {found[1]}, which is missing. Install it (Debian, Ubuntu: "
        "apt-get install libgl1 libglib2.0-0), or let opencv-python-headless take its place."
    )


def prepare_streams() -> None:
    """Make stdout and stderr UTF-8 that keeps odd bytes of file names, and stdout a line at a time even in a pipe."""
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]


def close_quietly() -> None:
    """Write out stdout; a reader that has gone (``| head``) is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
