"""``ema_alpha``: a running average of the convolutions' weights.  Source: darknet src/network.c, ema_update, ema_apply.

It begins with the weights of iteration max_batches/2, is copied into the network at max_batches - 1000, and stays as it
is from then on. Running statistics of batch norm are not averaged.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from darkpy.cfg.net import NetSpec
from darkpy.engine._state import check_tensors, restore_tensors
from darkpy.events import Line, Sink
from darkpy.network import Network

_APPLIED_BEFORE_END = 1000  # iterations


def span(net: NetSpec) -> tuple[int, int]:
    """Return the iterations at which the average begins, and at which it is copied into the network."""
    return net.max_batches // 2, net.max_batches - _APPLIED_BEFORE_END


def idle_average(net: NetSpec) -> str | None:
    """Return the sentence that says why ``ema_alpha`` does nothing, or None where it acts or is not asked for."""
    start, applied = span(net)
    if not net.ema_alpha or applied > start:
        return None
    return (
        f"the average begins at iteration {start} (max_batches/2), but ends at {applied} (max_batches - "
        f"{_APPLIED_BEFORE_END}): nothing is ever averaged. Set max_batches above {2 * _APPLIED_BEFORE_END}, "
        "or ema_alpha=0."
    )


class WeightAverage:
    """The running average of a network.

    Args:
        network: Its weights are averaged, layers that are never updated left out.
        emit: Gets darknet's lines.
    """

    def __init__(self, network: Network, emit: Sink) -> None:
        net = self.net = network.net
        self.alpha = net.ema_alpha
        self.start, self.applied = span(net)
        self.emit = emit
        self._averages: dict[str, Tensor] = {}  # by names such as "ema.3.weight"; empty until ``start``
        self._live: dict[str, Tensor] = {}
        for plan, module in zip(network.blueprint.layers, network.layers, strict=True):
            names = {parameter: name for name, parameter in module.named_parameters()}
            for parameter, rule in plan.spec.parameter_rules(module):
                is_own = parameter in names  # no average is kept of weights that a layer shares
                if self.alpha and rule.of_convolution and is_own and plan.index >= network.updated_from:
                    self._live[f"ema.{plan.index}.{names[parameter]}"] = parameter

    @property
    def has_begun(self) -> bool:
        """Whether there is an average, to be saved as the ``_ema`` file."""
        return bool(self._averages)

    def notes(self) -> list[str]:
        """Return what to say before a run."""
        idle = idle_average(self.net)
        return [f"Warning: [net] ema_alpha={self.alpha:g}: {idle}"] if idle else []

    @torch.no_grad()
    def after_update(self, iteration: int) -> None:
        """Take in the weights after update ``iteration``, counted from 1."""
        if not self._live or iteration < self.start:
            return
        if not self._averages:
            self._averages = {name: weight.detach().clone() for name, weight in self._live.items()}
            self.emit(Line(" EMA initialization "))
        averages, weights = list(self._averages.values()), list(self._live.values())
        if iteration == self.applied:
            torch._foreach_copy_(weights, averages)
            self.emit(Line(" ema_apply() "))
        elif iteration < self.applied:
            torch._foreach_mul_(averages, self.alpha)
            torch._foreach_add_(averages, weights, alpha=1 - self.alpha)
            self.emit(Line(f" ema_update(), ema_alpha = {self.alpha:f} "))

    @contextmanager
    def in_network(self) -> Iterator[None]:
        """Let the network have the averaged weights for as long as the context lasts."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, average in self._averages.items():
            weight = self._live[name]
            kept = weight.clone()
            weight.copy_(average)
            average.copy_(kept)

    def state(self) -> dict[str, Tensor]:
        """Return the average by names such as ``ema.3.weight``; nothing before it begins."""
        return dict(self._averages)

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what ``state`` returned; a state without an average is that of a run before it begins.

        Raises:
            ValueError: If a tensor is missing or has another shape; nothing is changed then.
        """
        self.check(state)
        begun = any(name in state for name in self._live)
        self._averages = {name: torch.empty_like(weight) for name, weight in self._live.items()} if begun else {}
        restore_tensors(self._averages, state)

    def check(self, state: Mapping[str, Tensor]) -> None:
        """Refuse a state that ``restore`` would refuse."""
        if any(name in state for name in self._live):
            check_tensors(self._live, state)
