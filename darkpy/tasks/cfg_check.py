"""`cfg check`: say everything that is wrong with a cfg, without building the network."""

from pathlib import Path

from darkpy.checks.cfg_check import check_cfg
from darkpy.diagnostics import exit_status
from darkpy.report.diagnostics import diagnostic_lines, diagnostics_json, summary_line
from darkpy.tasks._network import find, say


def check(net: Path, data: Path | None = None, *, as_json: bool = False) -> int:
    """Print what is wrong with a cfg, and return the exit status: 0 nothing to mend, 3 warnings, 1 errors.

    Args:
        net: The cfg, also one that comes with darkpy.
        data: A .data file that it must fit, or None.
        as_json: Print JSON in place of lines.
    """
    path = find(net)
    found = check_cfg(path, None if data is None else find(data))
    if as_json:
        print(diagnostics_json(found))
    else:
        for line in diagnostic_lines(found):
            print(line)
        say(f"{path}: {summary_line(found)}.")
    return exit_status(found)
