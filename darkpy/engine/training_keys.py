"""What keys of [net] add to an iteration beside the weight update: one object that the trainer calls."""

from collections.abc import Mapping

from torch import Tensor

from darkpy.cfg.net import NetSpec
from darkpy.engine.adversarial import Adversary
from darkpy.engine.ema import WeightAverage
from darkpy.engine.outliers import OutlierFilter
from darkpy.engine.similar_filters import SimilarFilters
from darkpy.events import Line, Sink
from darkpy.layers._base import StepKey
from darkpy.layers._head import DeltaFilter
from darkpy.network import Network


def late_keys(net: NetSpec) -> dict[str, str]:
    """Return the keys that would begin to act only after the end, each with a sentence that says when."""
    begins_and_ends = {
        "equidistant_point": (net.equidistant_point, net.max_batches, "max_batches"),
        "adversarial_lr": (net.burn_in if net.adversarial_lr else 0, net.max_batches, "max_batches, by burn_in"),
        "weights_reject_freq": (net.weights_reject_freq, net.max_batches * 3 // 4, "3/4 of max_batches"),
    }
    return {
        key: f"never acts: it would begin at iteration {begins}, beyond {what} ({ends})."
        for key, (begins, ends, what) in begins_and_ends.items()
        if begins and begins >= ends
    }


class TrainingKeys:
    """ema_alpha, weights_reject_freq, adversarial_lr, equidistant_point and the rejection of bad labels.

    Args:
        network: On its device.
        emit: Gets the lines that darknet prints.
        seed: Key of random draws.
    """

    def __init__(self, network: Network, emit: Sink, *, seed: int) -> None:
        self.network = network
        self.emit = emit
        self.average = WeightAverage(network, emit)
        self.similar = SimilarFilters(network, emit, seed=seed)
        self.adversary = Adversary(network, emit)
        self.outliers = OutlierFilter(network.net, next(network.parameters()).device)

    def begin(self, completed: int) -> None:
        """Begin an iteration after so many completed ones."""
        self.outliers.begin(completed)

    @property
    def keep(self) -> DeltaFilter | None:
        """The filter of this iteration's deltas, if any."""
        return self.outliers if self.outliers.is_active else None

    def images(self, images: Tensor, key: StepKey) -> Tensor:
        """Return the images (B, C, H, W) to train on."""
        return self.adversary.images(images, key, keep=self.keep)

    def after_update(self, iteration: int) -> None:
        """Act after update ``iteration``, counted from 1."""
        for line in self.outliers.lines():
            self.emit(Line(line))
        self.average.after_update(iteration)
        self.similar.after_update(iteration)

    def notes(self) -> list[str]:
        """Return what to say before a run."""
        net, notes = self.network.net, self.average.notes()
        if net.loss_scale != 1:
            notes.append(
                f"[net] loss_scale={net.loss_scale:g}: darkpy trains in float32 whatever it says; darknet would use "
                f"half precision from iteration {3 * net.burn_in + 1} on (3 x burn_in + 1)."
            )
        if net.sequential_subdivisions < net.subdivisions:
            times = net.subdivisions // net.sequential_subdivisions
            notes.append(
                f"[net] sequential_subdivisions={net.sequential_subdivisions} of subdivisions={net.subdivisions}: "
                f"gradients count 1/{times}, as in darknet's GPU build."
            )
        if net.adversarial_lr and self.network.stopped_at(net.max_batches) >= 0:
            notes.append(
                f"[net] adversarial_lr={net.adversarial_lr:g} has no effect: with stopbackward=1 no gradient gets to "
                "the picture."
            )
        notes += [f"[net] {key} {text}" for key, text in late_keys(net).items()]
        return notes

    def state(self) -> dict[str, Tensor]:
        """Return what later iterations depend on, by name."""
        return {**self.average.state(), **self.outliers.state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what ``state`` returned; further names are ignored.

        Raises:
            ValueError: If a tensor is missing or has another shape; nothing is changed then.
        """
        self.check(state)
        self.outliers.restore(state)
        self.average.restore(state)

    def check(self, state: Mapping[str, Tensor]) -> None:
        """Refuse a state that ``restore`` would refuse, and change nothing.

        Raises:
            ValueError: If a tensor is missing or has another shape.
        """
        self.outliers.check(state)
        self.average.check(state)
