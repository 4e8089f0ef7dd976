"""Options that every layer section takes.  Source: darknet src/parser.c, parse_network_cfg_custom."""

from dataclasses import dataclass
from typing import Self

from darkpy.cfg.options import Options

_WITHOUT_EFFECT = {"dont_update": "0", "burnin_update": "0", "train_only_bn": "0", "clip": "0", "onlyforward": "0"}
_REFUSED = ("dontload", "dontloadscales")  # they change which bytes of a weights file belong to which layer


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What any layer section may say."""

    learning_rate: float  # factor of the net's rate
    stopbackward: int  # 1: nothing before this layer trains; n > 1: not before iteration n

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read the options.

        Raises:
            CfgError: If one cannot be obeyed in this version.
        """
        for key, neutral in _WITHOUT_EFFECT.items():
            value = options.text(key, neutral)
            if value != neutral:
                options.notes.append(f"{options.where} {key}={value} has no effect in this version of darkpy.")
        for key in _REFUSED:
            if options.flag(key):
                options.fail(
                    key, f"not supported in this version of darkpy. Set {key}=0 and give weights of all layers."
                )
        return cls(
            learning_rate=options.real("learning_rate", 1.0),
            stopbackward=options.integer("stopbackward", 0, at_least=0),
        )
