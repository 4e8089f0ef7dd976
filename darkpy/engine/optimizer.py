"""darknet's weight update: gradient descent with momentum on the sum over an iteration's images.

For a parameter w with accumulator v, which is never cleared:

    v -= gradient, summed over all images of the iteration (delta has the opposite sign in darknet)
    v -= decay * images * w        convolution weights only
    w += rate / images * v
    v *= momentum

With equal batches this is torch.optim.SGD with weight decay; kept in darknet's units it also holds when batches change.
A gradient enters its accumulator the moment that backward has it, and is freed there: no parameter keeps a ``grad``.
``loss_scale`` multiplies gradients and decay, and divides the rate. ``sequential_subdivisions`` below subdivisions
counts images that often again. ``adam`` replaces the update of convolutions.
Source: darknet src/convolutional_kernels.cu, update_convolutional_layer_gpu; src/network_kernels.cu,
update_network_gpu; src/shortcut_layer.c.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import Tensor, nn

from darkpy.engine._adam import AdamRule, adam_step
from darkpy.engine._state import restore_tensors
from darkpy.layers._base import ParameterRule
from darkpy.layers._guard import drop, mend
from darkpy.layers.convolutional import Convolution
from darkpy.memory.resting import OnDevice, Rest
from darkpy.network import Network


@dataclass(frozen=True, slots=True)
class _Treatment:
    """What decides how a parameter is updated."""

    rule: ParameterRule
    rate_factor: float
    first_update: int  # an earlier one is left out; gradients go on adding up
    turn: int = 0  # weights that layers share are updated once for each, in turn


@dataclass(slots=True)
class _Group:
    """Parameters that are treated alike."""

    treatment: _Treatment
    parameters: list[Tensor] = field(default_factory=list)
    accumulators: list[Rest] = field(default_factory=list)
    means: list[Rest] = field(default_factory=list)  # Adam's
    squares: list[Rest] = field(default_factory=list)


class DarknetUpdate:
    """The weight update of a network, with its accumulators.

    Args:
        network: Its trainable parameters are updated in place; layers that ``stopbackward=1`` froze are left out, and
            those up to ``train_only_bn``. Their gradients go to the accumulators from now on; a second update of one
            network takes over from the first.
        rest: Gives a place to a tensor of zeros like the one it gets; None leaves all on the device.
    """

    def __init__(self, network: Network, *, rest: Callable[[Tensor], Rest] | None = None) -> None:
        net = network.net
        self.momentum = net.momentum
        self.decay = net.decay
        self.loss_scale = net.loss_scale
        self.mends = net.try_fix_nan
        self._repeats = net.subdivisions // net.sequential_subdivisions
        self._adam = AdamRule(net.adam_b1, net.adam_b2, net.adam_eps) if net.adam else None
        self._network = network
        self._rest = rest or _on_device
        self._state: dict[str, Rest] = {}
        self._of_normalization: set[Tensor] = set()  # scales and shifts of batch norm
        self._groups: dict[_Treatment, _Group] = {}
        self._taken: dict[Tensor, list[_Group]] = {}  # which groups update a parameter
        self.close()
        for plan, module in zip(network.blueprint.layers, network.layers, strict=True):
            if plan.index < network.updated_from:
                continue
            owner = cast(nn.Module, getattr(module, "owner", module))
            names = {parameter: name for name, parameter in owner.named_parameters()}
            first = max(plan.common.dont_update + 1, plan.common.burnin_update * net.burn_in)
            if "scale" in names.values():
                self._of_normalization |= {parameter for parameter in names if parameter.ndim == 1}
            for parameter, rule in plan.spec.parameter_rules(module):
                treatment = _Treatment(rule, plan.common.learning_rate, first)
                self._take(f"{plan.index}.{names[parameter]}", parameter, treatment)

    def _take(self, name: str, parameter: Tensor, treatment: _Treatment) -> None:
        """Give a parameter its accumulators; one that layers share has them already."""
        earlier = self._taken.setdefault(parameter, [])
        if earlier:
            self._take_again(parameter, earlier, replace(treatment, turn=len(earlier)))
            return
        group = self._groups.setdefault(treatment, _Group(treatment))
        kept = {"v": group.accumulators}
        if self._adam is not None and treatment.rule.of_convolution:
            kept |= {"m": group.means, "s": group.squares}
        group.parameters.append(parameter)
        for letter, rests in kept.items():
            rests.append(self._rest(parameter.detach()))
            self._state[f"{name}.{letter}"] = rests[-1]
        earlier.append(group)
        register = parameter.register_post_accumulate_grad_hook
        self._network.gradient_hooks.append(register(_gathers_into(group.accumulators[-1])))  # type: ignore[no-untyped-call]

    def _take_again(self, parameter: Tensor, earlier: list[_Group], treatment: _Treatment) -> None:
        """Let another layer update a parameter once more, from the same accumulators."""
        group = self._groups.setdefault(treatment, _Group(treatment))
        place = next(number for number, one in enumerate(earlier[0].parameters) if one is parameter)
        group.parameters.append(parameter)
        group.accumulators.append(earlier[0].accumulators[place])
        if earlier[0].means:
            group.means.append(earlier[0].means[place])
            group.squares.append(earlier[0].squares[place])
        earlier.append(group)

    @property
    def parameters(self) -> Iterable[Tensor]:
        """All parameters that are updated."""
        return (parameter for group in self._groups.values() for parameter in group.parameters)

    def close(self) -> None:
        """Let the network's parameters keep their gradients again."""
        for handle in self._network.gradient_hooks:
            handle.remove()
        self._network.gradient_hooks.clear()

    @torch.no_grad()
    def clear(self) -> None:
        """Set all accumulators to 0: momentum begins anew. Adam's means stay: no bad gradient enters them."""
        for group in self._groups.values():
            with _at_hand(group.accumulators) as accumulators:
                torch._foreach_zero_(accumulators)

    @torch.no_grad()
    def is_finite(self) -> bool:
        """Return whether an update can be made; waits for the device.

        A gradient that is no number stays in its accumulator, so that one look at those after all mini-batches will
        do. Under ``try_fix_nan`` the answer is always yes: ``step`` then mends what is no number.
        """
        accumulators = [rest.load() for group in self._groups.values() for rest in group.accumulators]
        if self.mends or not accumulators:
            return True
        return bool(torch.stack(torch._foreach_norm(accumulators)).isfinite().all())

    @torch.no_grad()
    def has_finite_weights(self) -> bool:
        """Return whether every parameter and running statistic is a number. Waits for the device."""
        tensors = [*self._network.parameters(), *self._network.buffers()]
        return all(bool(tensor.isfinite().all()) for tensor in tensors)

    @torch.no_grad()
    def step(self, *, rate: float, images: int, iteration: int) -> None:
        """Update the parameters from their accumulators.

        Args:
            rate: Learning rate of this iteration.
            images: Images whose gradients were summed.
            iteration: Number of the update, counted from 1.
        """
        if self.mends:
            self._mend()
        for treatment, group in self._groups.items():
            if iteration >= treatment.first_update:
                self._apply(group, rate=rate, images=images * self._repeats, iteration=iteration)

    def _apply(self, group: _Group, *, rate: float, images: int, iteration: int) -> None:
        """Update the parameters of a group."""
        rule = group.treatment.rule
        rate = rate * group.treatment.rate_factor / self.loss_scale
        with _at_hand(group.accumulators) as accumulators:
            if rule.centralize:
                means = [tensor.mean((1, 2, 3), keepdim=True) for tensor in accumulators]
                for accumulator, mean in zip(accumulators, means, strict=True):
                    accumulator.sub_(mean)
            if self._adam is not None and rule.of_convolution:
                with _at_hand(group.means) as averages, _at_hand(group.squares) as squares:
                    adam_step(
                        group.parameters,
                        accumulators,
                        averages,
                        squares,
                        rule=self._adam,
                        rate=rate,
                        decay=self.decay * images,
                        iteration=iteration,
                    )
            else:
                self._descend(rule, group.parameters, accumulators, rate=rate, images=images)
        if rule.clip:
            torch._foreach_clamp_min_(group.parameters, -rule.clip)
            torch._foreach_clamp_max_(group.parameters, rule.clip)

    def _descend(
        self,
        rule: ParameterRule,
        parameters: list[Tensor],
        accumulators: list[Tensor],
        *,
        rate: float,
        images: int,
    ) -> None:
        """Take darknet's own step: gradient descent with momentum."""
        if rule.decay and self.decay:
            torch._foreach_add_(accumulators, parameters, alpha=-self.decay * images * self.loss_scale)
        if rule.clamp_update is not None:
            torch._foreach_clamp_min_(accumulators, -rule.clamp_update)
            torch._foreach_clamp_max_(accumulators, rule.clamp_update)
        torch._foreach_add_(parameters, accumulators, alpha=rate / images)
        torch._foreach_mul_(accumulators, self.momentum)

    def _mend(self) -> None:
        """Put numbers in place of values that are none: in accumulators, parameters and running statistics."""
        for group in self._groups.values():
            with _at_hand(group.accumulators) as accumulators:
                for accumulator, parameter in zip(accumulators, group.parameters, strict=True):
                    of_normalization = parameter in self._of_normalization
                    accumulator.copy_(mend(accumulator) if of_normalization else drop(accumulator))
                    parameter.copy_(mend(parameter))
        for module in self._network.layers:
            if isinstance(module, Convolution):
                for statistics in module.buffers():
                    statistics.copy_(mend(statistics))

    def state(self) -> dict[str, Tensor]:
        """Return what later updates depend on, by names such as ``3.weight.v``; no copies where it is on the device."""
        return {name: rest.load() for name, rest in self._state.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what ``state`` returned, from any device; further names are ignored.

        Raises:
            ValueError: If a tensor is missing or has another shape; nothing is changed then.
        """
        targets = self.state()
        restore_tensors(targets, state)
        for name, tensor in targets.items():
            self._state[name].store(tensor)


def _on_device(like: Tensor) -> Rest:
    return OnDevice(torch.zeros_like(like))


@contextmanager
def _at_hand(rests: Sequence[Rest]) -> Iterator[list[Tensor]]:
    """Yield the tensors on the device; what is written to them lasts."""
    tensors = [rest.load() for rest in rests]
    yield tensors
    for rest, tensor in zip(rests, tensors, strict=True):
        rest.store(tensor)


def _gathers_into(accumulator: Rest) -> Callable[[Tensor], None]:
    """Return the hook that moves a parameter's gradient into its accumulator."""

    def gather(parameter: Tensor) -> None:
        assert parameter.grad is not None
        with torch.no_grad():
            tensor = accumulator.load()
            accumulator.store(tensor.sub_(parameter.grad))
        parameter.grad = None

    return gather
