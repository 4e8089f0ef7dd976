"""darknet's weight update: gradient descent with momentum on the sum over an iteration's images.

For a parameter w with accumulator v, which is never cleared:

    v -= gradient, summed over all images of the iteration (delta has the opposite sign in darknet)
    v -= decay * images * w        convolution weights only
    w += rate / images * v
    v *= momentum

With equal batches this is torch.optim.SGD with weight decay; kept in darknet's units it also holds when batches change.
Source: darknet src/convolutional_layer.c, update_convolutional_layer; src/convolutional_kernels.cu.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from darkpy.layers._base import ParameterRule
from darkpy.network import Network


@dataclass(slots=True)
class _Group:
    """Parameters that are treated alike."""

    rule: ParameterRule
    rate_factor: float
    parameters: list[Tensor] = field(default_factory=list)
    accumulators: list[Tensor] = field(default_factory=list)


class DarknetUpdate:
    """The weight update of a network, with its accumulators.

    Args:
        network: Its trainable parameters are updated in place; layers that ``stopbackward=1`` froze are left out.
    """

    def __init__(self, network: Network) -> None:
        self.momentum = network.net.momentum
        self.decay = network.net.decay
        groups: dict[tuple[ParameterRule, float], _Group] = {}
        for plan, module in zip(network.blueprint.layers, network.layers, strict=True):
            if plan.index < network.frozen_before:
                continue
            for parameter, rule in plan.spec.parameter_rules(module):
                group = groups.setdefault((rule, plan.common.learning_rate), _Group(rule, plan.common.learning_rate))
                group.parameters.append(parameter)
                group.accumulators.append(torch.zeros_like(parameter))
        self._groups = list(groups.values())

    @property
    def parameters(self) -> Iterable[Tensor]:
        """All parameters that are updated."""
        return (parameter for group in self._groups for parameter in group.parameters)

    def clear(self) -> None:
        """Drop the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def is_finite(self) -> bool:
        """Return whether every gradient is a number. Waits for the device."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if not gradients:
            return True
        norms = torch._foreach_norm(gradients)
        return bool(torch.stack(norms).isfinite().all())

    @torch.no_grad()
    def has_finite_weights(self) -> bool:
        """Return whether every parameter is a number. Waits for the device."""
        return all(bool(parameter.isfinite().all()) for parameter in self.parameters)

    @torch.no_grad()
    def step(self, *, rate: float, images: int) -> None:
        """Update the parameters from their gradients and drop those.

        Args:
            rate: Learning rate of this iteration.
            images: Images whose gradients were summed.
        """
        for group in self._groups:
            self._gather(group)
            if group.rule.decay and self.decay:
                torch._foreach_add_(group.accumulators, group.parameters, alpha=-self.decay * images)
            if group.rule.clamp_update is not None:
                torch._foreach_clamp_min_(group.accumulators, -group.rule.clamp_update)
                torch._foreach_clamp_max_(group.accumulators, group.rule.clamp_update)
            torch._foreach_add_(group.parameters, group.accumulators, alpha=rate * group.rate_factor / images)
            torch._foreach_mul_(group.accumulators, self.momentum)
        self.clear()

    def _gather(self, group: _Group) -> None:
        """Subtract the gradients from the accumulators; a parameter that backward never reached adds nothing."""
        pairs = [(v, w.grad) for v, w in zip(group.accumulators, group.parameters, strict=True) if w.grad is not None]
        if pairs:
            accumulators, gradients = zip(*pairs, strict=True)
            torch._foreach_sub_(list(accumulators), list(gradients))
