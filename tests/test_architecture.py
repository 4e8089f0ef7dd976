"""Imports point down, never sideways or up; the command line stays free of slow imports."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEVELS = (  # from top to bottom; parts of one level may not see each other
    ("__main__",),
    ("cli",),
    ("tasks",),
    ("checks",),
    ("engine", "evaluation", "report", "weights", "conversion"),
    ("network",),
    ("blueprint",),
    ("layers", "data"),
    ("boxes", "structures", "events", "cfg", "memory", "state"),
    ("errors", "files", "diagnostics"),
)
LEVEL = {part: level for level, parts in enumerate(LEVELS) for part in parts}
SLOW = {"torch", "torchvision", "numpy", "cv2"}
FAST_PARTS = {"__init__", "__main__", "cli", "events", "cfg", "errors", "files", "diagnostics"}
FILES = sorted((ROOT / "darkpy").rglob("*.py"))


def part_of(module: str) -> str:
    """Return ``cfg`` for ``darkpy.cfg.text``, and ``__init__`` for ``darkpy``."""
    return [*module.split("."), "__init__"][1]


def imports(tree: ast.AST, *, everywhere: bool) -> Iterator[tuple[str, int]]:
    """Yield imported modules with their lines; ``everywhere`` includes those inside functions."""
    for node in ast.walk(tree) if everywhere else ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "darkpy":
            yield from (
                (f"darkpy.{alias.name}" if alias.name in LEVEL else "darkpy", node.lineno) for alias in node.names
            )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; write the whole name"
            yield node.module or "", node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)


def offences(source: str, part: str) -> list[str]:
    """Return the lines of a file of ``part`` that import what it may not see."""
    tree, found = ast.parse(source), []
    for module, line in imports(tree, everywhere=True):
        other = part_of(module)
        if not module.startswith("darkpy") or other in (part, "__init__"):
            continue
        if other not in LEVEL:
            found.append(f"{line}: darkpy.{other} is not in the table of parts")
        elif part != "__init__" and LEVEL[other] <= LEVEL[part]:
            found.append(f"{line}: {part} may not import {module}")
    if part in FAST_PARTS:
        slow = [(module, line) for module, line in imports(tree, everywhere=False) if module.split(".")[0] in SLOW]
        found += [f"{line}: {part} may not import {module} at module level" for module, line in slow]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_down(path: Path) -> None:
    name = path.relative_to(ROOT / "darkpy").parts[0].removesuffix(".py")
    assert [f"{path.relative_to(ROOT)}:{line}" for line in offences(path.read_text("utf-8"), name)] == []


@pytest.mark.parametrize(
    ("source", "part", "line"),
    [
        ("\nfrom darkpy.tasks.train import train", "engine", "2: engine may not import darkpy.tasks.train"),
        ("def f():\n    import darkpy.weights", "report", "2: report may not import darkpy.weights"),
        ("from darkpy import network", "data", "1: data may not import darkpy.network"),
        ("import torch.nn", "cfg", "1: cfg may not import torch.nn at module level"),
        ("from darkpy.utils import x", "cli", "1: darkpy.utils is not in the table of parts"),
    ],
)
def test_an_offence_is_found_and_named(source: str, part: str, line: str) -> None:
    assert offences(source, part) == [line]


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("from darkpy.errors import DarkpyError", "cli"),
        ("from darkpy.cli._notes import note", "cli"),
        ("def f():\n    import torch", "cli"),
        ("from darkpy import __version__", "engine"),
    ],
)
def test_what_is_allowed_passes(source: str, part: str) -> None:
    assert offences(source, part) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_has_350_lines_at_most(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 350
