"""What a training takes, as rows of a .csv file of its own.

They stand apart from losses and mAPs: those are the same whenever a run is repeated, on any machine; these are not.
"""

import csv
import sys
from pathlib import Path

from darkpy.events import Event, MemoryUsed
from darkpy.report.memory_report import amount

# fields of the event
COLUMNS = ("iteration", "width", "height", "tier", "weights", "momentum", "device_peak", "arena", "blocks")


class MemoryRows:
    """Appends a row each time that a run tells what it takes: a sink of events. Bytes; a column is empty if unknown.

    Args:
        path: The .csv file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._failed = False

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        if not isinstance(event, MemoryUsed) or self._failed:
            return
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if not file.tell():
                    writer.writerow(COLUMNS)
                writer.writerow([getattr(event, column) for column in COLUMNS])  # None becomes nothing
        except OSError:  # a full disk must not end the training; the console has the line
            self._failed = True


def print_memory(event: Event) -> None:
    """Print what a run takes on stderr: a sink of events."""
    if isinstance(event, MemoryUsed):
        print(memory_line(event), file=sys.stderr, flush=True)


def memory_line(event: MemoryUsed) -> str:
    """Return the line on a console."""
    whole = "process" if event.of_process else "device"
    parts = [f"weights {amount(event.weights)}", f"momentum {amount(event.momentum)}"]
    peak = "not told by the system" if event.device_peak is None else amount(event.device_peak)
    text = f"Memory at {event.width}x{event.height}, tier {event.tier}: {whole} peak {peak} ({', '.join(parts)})"
    if event.blocks:
        text += f"; host arena {amount(event.arena)} in {event.blocks} block{'s' * (event.blocks > 1)}"
    return text
