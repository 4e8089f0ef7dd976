"""What the losses of classifiers have in common: the truth's shape, and a HeadLoss without boxes."""

from torch import Tensor

from darkpy.errors import CfgError
from darkpy.layers._head import HeadLoss


def fitted_truths(truths: Tensor, output: Tensor, where: str) -> Tensor:
    """Return truths (B, classes) in the shape of an output (B, C, H, W).

    Raises:
        CfgError: If the output has another number of values for an image.
    """
    values = output[0].numel()
    if truths[0].numel() != values:
        raise CfgError(
            f"{where} has {values} outputs, but the truth has {truths[0].numel()} classes. "
            f"Set the outputs of the layer before to {truths[0].numel()}."
        )
    return truths.reshape(output.shape).to(output.dtype)


def class_loss(delta: Tensor, cost: Tensor) -> HeadLoss:
    """Return the loss of a classifier's layer.

    Args:
        delta: (B, C, H, W): minus the gradient with respect to the layer's output, summed over images.
        cost: 0-dimensional, summed over images.
    """
    none = cost.new_zeros(())
    by_image = cost / delta.shape[0]
    return HeadLoss(
        delta=delta,
        cost=cost,
        average_iou=none,
        count=none,
        class_loss=by_image,
        iou_loss=none,
        total_loss=by_image,
        rewritten=none,
        assigned=none,
    )
