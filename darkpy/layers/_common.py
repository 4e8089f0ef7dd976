"""Options that every layer section takes.  Source: darknet src/parser.c, parse_network_cfg_custom."""

from dataclasses import dataclass
from typing import Self

from darkpy.cfg.options import Options


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What any layer section may say."""

    learning_rate: float  # factor of the net's rate
    stopbackward: int  # 1: nothing before this layer trains; n > 1: not before iteration n
    dont_update: int = 0  # updates that are left out at the start; their gradients go on adding up
    burnin_update: int = 0  # the same, in multiples of burn_in
    train_only_bn: bool = False  # up to this layer only batch norm's running statistics change
    onlyforward: bool = False  # no gradient reaches this layer or passes it
    dontload: bool = False  # a weights file has nothing for this layer
    dontloadscales: bool = False  # a weights file has no scales and statistics of batch norm for it

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read the options.

        Raises:
            CfgError: If a value is no number.
        """
        return cls(
            learning_rate=options.real("learning_rate", 1.0),
            stopbackward=options.integer("stopbackward", 0, at_least=0),
            dont_update=options.integer("dont_update", 0),
            burnin_update=options.integer("burnin_update", 0),
            train_only_bn=options.flag("train_only_bn"),
            onlyforward=options.flag("onlyforward"),
            dontload=options.flag("dontload"),
            dontloadscales=options.flag("dontloadscales"),
        )
