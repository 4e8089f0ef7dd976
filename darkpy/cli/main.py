"""``darkpy``: the commands, and how a run ends (exit status and last line)."""

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from darkpy import __version__
from darkpy.cli._darknet import DarknetGroup, darknet_settings
from darkpy.cli.cfg import cfg
from darkpy.cli.data import data
from darkpy.cli.detector import detector
from darkpy.cli.help import show as help_page
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


for command in (detector, cfg, data, help_page):
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


class OutputError(SetupError, OSError):
    """Standard output cannot be written. An OSError too, so that a training can go on without it."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"standard output cannot be written: {why}. Make room on the disk, or send the output somewhere else."
        )


class _Output(io.TextIOWrapper):
    """Standard output, whose failures can be told from those of files. A reader that has gone stays what it is."""

    def write(self, text: str) -> int:
        with _output_errors():
            return super().write(text)

    def flush(self) -> None:
        with _output_errors():
            super().flush()


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror) from error


def run_process() -> int:
    """Run the process's own command line and return its exit status: as ``run``, or 1 if stdout cannot be written."""
    if sys.stderr is None:  # closed (2>&-): what is said there is lost
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open to the end
    if sys.stdout is None:  # >&-: the next file to be opened would take its place
        return _report(OutputError("it is closed"))
    prepare_streams()
    try:
        status = run()
    finally:
        lost = close_quietly()
    return status if lost is None else status or _report(lost)


def prepare_streams() -> None:
    """Make stdout and stderr UTF-8 that keeps odd bytes of file names, and stdout a line at a time even in a pipe."""
    form = {"encoding": "utf-8", "errors": "surrogateescape"}
    sys.stdout.flush()
    sys.stdout = _Output(sys.stdout.detach(), **form, line_buffering=True)  # type: ignore[union-attr, arg-type]
    sys.stderr.reconfigure(**form)  # type: ignore[union-attr]


def close_quietly() -> OutputError | None:
    """Write out stdout, and return the error to show if that fails; a reader that has gone (``| head``) is no error."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
        return error if isinstance(error, OutputError) else None
    return None
