"""Every error that a user can cause: one line that says where, what, the rule and the mend.

DarkpyError
├── CfgError         a network or .data file that cannot be read as it stands
├── DataError        a list, picture, label or .names file
├── WeightsError     a .weights file that does not fit, or is none
├── StateError       a .state file that cannot be read; training goes on without it
├── TrainingError    a run that cannot go on (a loss that is no number, a folder that vanished)
├── MemoryPlanError  memory that cannot be had: what was asked, what there is, which setting fits
└── SetupError       the machine: a device or a system library that is missing
"""


class DarkpyError(Exception):
    """A mistake that a user can mend. Its text is one whole line, ready to be printed."""


class CfgError(DarkpyError):
    """A cfg or .data file that cannot be read as it stands."""


class DataError(DarkpyError):
    """An image list, a picture, a label file or a .names file that cannot be used."""


class WeightsError(DarkpyError):
    """A .weights file that does not fit the network, or is no weights file at all."""


class StateError(DarkpyError):
    """A .state file that cannot be read."""


class TrainingError(DarkpyError):
    """A training run that cannot go on."""


class MemoryPlanError(DarkpyError):
    """Memory, on the device or the host, that a run needs and cannot have."""


class SetupError(DarkpyError):
    """A device or a system library that this machine lacks."""
