"""Rules about layers that use the weights of another one."""

from collections.abc import Iterator

from darkpy.checks.cfg_survey import Survey, SurveyedLayer
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import CfgError
from darkpy.layers._base import Shape


def shared_diagnostics(survey: Survey) -> Iterator[Diagnostic]:
    """Yield the layers whose weights do not fit the layer that has them."""
    for layer in survey.layers:
        index = getattr(layer.spec, "shares", None)
        if index is None or index >= len(survey.layers):
            continue
        owner = survey.layers[index]
        inputs, own_inputs = _inputs(survey, owner), _inputs(survey, layer)
        if owner.spec is None or not inputs or not own_inputs or owner.left_out or layer.left_out:
            continue
        try:
            layer.spec.check_owner(owner.spec, inputs, own_inputs)  # type: ignore[union-attr]  # it shares
        except CfgError as error:
            path = layer.section.path
            yield from_message(str(error), severity=Severity.ERROR, code="shape", path=path)


def _inputs(survey: Survey, layer: SurveyedLayer) -> list[Shape]:
    """Return the shapes that a layer reads; none where one of them is unknown."""
    shapes = []
    for source in layer.sources:
        if source < 0:
            if survey.net is None:
                return []
            shapes.append(Shape(survey.net.channels, survey.net.height, survey.net.width))
            continue
        output = survey.layers[source].output
        if output is None or not output.channels_known:
            return []
        shapes.append(output.shape)
    return shapes
