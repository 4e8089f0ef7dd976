"""The pages in darkpy/docs: shown, listed, and true as far as a test can tell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from darkpy.cli.help import pages, title
from darkpy.cli.main import run
from darkpy.memory.arena import BLOCK
from darkpy.memory.limits import RESERVE, RESERVE_SHARE
from darkpy.memory.plan import RAM_SHARE
from darkpy.memory.saving import SMALLEST
from darkpy.memory.tiers import TIERS

PAGES = pages()


def test_a_page_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "memory"]) == 0
    assert capsys.readouterr().out == PAGES["memory"].read_text("utf-8")


@pytest.mark.parametrize("line", ["help", "help -h"])
def test_without_a_name_the_pages_are_listed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 0
    out = capsys.readouterr().out
    assert ("memory" in out) == (line == "help")
    if line == "help":
        assert [row for row in out.splitlines() if row.startswith("  ")] == [
            f"  {name:<10}  {title(path)}" for name, path in PAGES.items()
        ]


@pytest.mark.parametrize(
    ("page", "mend"),
    [
        ("memry", "Did you mean 'memory'?"),
        ("detector", "'detector' is a command: darkpy detector --help."),
        ("zzzzzz", "There is: memory"),
    ],
)
def test_a_page_that_is_not_there_says_what_is(page: str, mend: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", page]) == 2
    assert f"Error: There is no page '{page}'. {mend}" in capsys.readouterr().err


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_a_page_has_a_title_and_lines_that_a_terminal_takes(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_the_examples_of_a_page_run(path: Path, tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert list(tmp_path.iterdir()) == []


def test_the_numbers_of_the_page_on_memory_are_the_programs() -> None:
    text = PAGES["memory"].read_text("utf-8")
    assert "chooses a tier, 0 to 3." in text
    assert TIERS == (0, 1, 2, 3)
    assert ("blocks of 1 GiB" in text, BLOCK) == (True, 2**30)
    assert ("Tensors below 64 KiB stay" in text, SMALLEST) == (True, 64 * 2**10)
    assert ("256 MiB of the disk are left alone" in text, RESERVE) == (True, 256 * 2**20)
    assert ("less 5 % of all memory, at least 256 MiB" in text, RESERVE_SHARE) == (True, 0.05)
    assert ("counts 75 % of the RAM" in text, RAM_SHARE) == (True, 0.75)
