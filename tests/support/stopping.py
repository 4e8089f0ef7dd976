"""Runs of `detector train` in this process that are stopped after some iterations."""

import signal
from pathlib import Path

import pytest
from training_project import Project

from darkpy.tasks import train as task
from darkpy.tasks._interrupt import StopRequest


class StopAt(StopRequest):
    """Asks to stop after an iteration of this process."""

    iterations = 0

    def __call__(self) -> bool:
        self.turns = getattr(self, "turns", 0) + 1
        if self.turns == self.iterations:
            self.signal = signal.SIGINT
        return super().__call__()


def run(project: Project, weights: Path | None = None, *, stop_after: int = 0, **options: object) -> int:
    """Train in this process, and stop after so many of its iterations; 0: never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "StopRequest", type("Stop", (StopAt,), {"iterations": stop_after}))
        return project.train(weights, **options)
