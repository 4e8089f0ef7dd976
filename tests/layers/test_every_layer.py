"""Laws that every section type obeys. A new type is held to them by its file and its test's EXAMPLE."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import sections
import torch
from torch import nn

from darkpy.layers._base import LayerSpec, Shape, registered

Example = tuple[dict[str, object], tuple[Shape, ...]]
HERE = Path(__file__).parent
KINDS = sorted({spec.kind for spec in registered().values()})


def file_of(kind: str) -> Path:
    """The test file of a section type: tests/layers/test_upsample.py for darkpy/layers/upsample.py."""
    return HERE / f"test_{registered()[kind].__module__.rpartition('.')[2]}.py"


def load(path: Path) -> ModuleType:
    name = f"example_of_{path.stem}"
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None
        assert found.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def made(kind: str) -> tuple[LayerSpec, tuple[Shape, ...], nn.Module]:
    values, inputs = load(file_of(kind)).EXAMPLE
    spec = sections.spec(kind, values)
    return spec, inputs, spec.build(inputs)


def run(module: nn.Module, inputs: tuple[Shape, ...], images: int = 2) -> torch.Tensor:
    return module(*(sections.images(images, *shape, seed=number) for number, shape in enumerate(inputs)))


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_test_file_with_an_example(kind: str) -> None:
    assert file_of(kind).is_file()
    values, inputs = load(file_of(kind)).EXAMPLE
    assert all(isinstance(shape, Shape) for shape in inputs)
    assert len(sections.spec(kind, values).sources(sections.INDEX)) == len(inputs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [True, False], ids=["training", "inference"])
def test_it_makes_the_shape_that_it_promises(kind: str, mode: bool) -> None:
    spec, inputs, module = made(kind)
    output = run(module.train(mode), inputs)
    assert output.shape == (2, *spec.output_shape(inputs))
    assert output.dtype == torch.float32


@pytest.mark.parametrize("kind", KINDS)
def test_its_sources_come_before_it(kind: str) -> None:
    spec, _, _ = made(kind)
    assert all(-1 <= source < sections.INDEX for source in spec.sources(sections.INDEX))


@pytest.mark.parametrize("kind", KINDS)
def test_its_blobs_cover_its_parameters_and_buffers(kind: str) -> None:
    spec, _, module = made(kind)
    blobs = {id(blob) for blob in spec.blobs(module)}
    assert blobs == {id(value) for value in (*module.parameters(), *module.buffers())}
    assert len(blobs) == len(spec.blobs(module))


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_one_update_rule(kind: str) -> None:
    spec, _, module = made(kind)
    ruled = [id(parameter) for parameter, _ in spec.parameter_rules(module)]
    assert sorted(ruled) == sorted(id(parameter) for parameter in module.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_its_blobs_are_all_that_it_learned(kind: str) -> None:
    """Two modules with equal blobs give equal outputs."""
    spec, inputs, module = made(kind)
    other = spec.build(inputs)
    with torch.no_grad():
        for number, (to, out) in enumerate(zip(spec.blobs(module), spec.blobs(other), strict=True)):
            to.copy_(sections.images(*to.shape, seed=number) + 0.5)
            out.copy_(to.flatten().clone().view(out.shape))
    assert torch.equal(run(module.eval(), inputs), run(other.eval(), inputs))


@pytest.mark.parametrize("kind", KINDS)
def test_outside_training_no_image_depends_on_another(kind: str) -> None:
    _, inputs, module = made(kind)
    xs = [sections.images(3, *shape, seed=number) for number, shape in enumerate(inputs)]
    with torch.no_grad():
        together = module.eval()(*xs)
        alone = torch.cat([module(*(x[row : row + 1] for x in xs)) for row in range(3)])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_leaves_its_inputs_alone(kind: str) -> None:
    _, inputs, module = made(kind)
    xs = [sections.images(2, *shape, seed=number) - 0.5 for number, shape in enumerate(inputs)]
    before = [x.clone() for x in xs]
    for mode in (True, False):
        module.train(mode)(*xs)
        assert all(torch.equal(x, same) for x, same in zip(xs, before, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_that_it_does_not_read_is_reported(kind: str) -> None:
    values, _ = load(file_of(kind)).EXAMPLE
    options = sections.options(kind, {**values, "foo": 1})
    registered()[kind].parse(options)
    line = sections.LINE + len(values) + 1
    assert options.leftovers() == [f"x.cfg:{line}: Unused field: 'foo = 1'."]


@pytest.mark.parametrize("kind", KINDS)
def test_its_row_and_operations_are_for_one_line_and_one_image(kind: str) -> None:
    spec, inputs, _ = made(kind)
    output = spec.output_shape(inputs)
    assert spec.row(inputs, output).strip()
    assert spec.bflops(inputs, output) >= 0


def test_all_names_of_a_type_lead_to_it() -> None:
    aliases = {name: spec.kind for name, spec in registered().items() if name != spec.kind}
    assert aliases == {
        "conv": "convolutional",
        "max": "maxpool",
        "avg": "avgpool",
        "local_avg": "local_avgpool",
        "lrn": "normalization",
        "silence": "empty",
        "conn": "connected",
        "soft": "softmax",
    }
