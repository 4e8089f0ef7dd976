"""Options that every layer section takes."""

import pytest
import sections

from darkpy.errors import CfgError
from darkpy.layers._common import CommonOptions


def parse(**values: object) -> tuple[CommonOptions, list[str]]:
    options = sections.options("maxpool", values)
    return CommonOptions.parse(options), options.notes


def test_defaults_are_quiet() -> None:
    assert parse() == (CommonOptions(learning_rate=1.0, stopbackward=0), [])


def test_values_are_read() -> None:
    assert parse(learning_rate=0.5, stopbackward=800) == (CommonOptions(learning_rate=0.5, stopbackward=800), [])


def test_what_decides_on_updates_is_read_without_a_note() -> None:
    common, notes = parse(dont_update=3, burnin_update=2, train_only_bn=1, onlyforward=1)
    assert (common.dont_update, common.burnin_update) == (3, 2)
    assert common.train_only_bn
    assert common.onlyforward
    assert notes == []


def test_what_a_weights_file_lacks_is_read_without_a_note() -> None:
    common, notes = parse(dontload=1, dontloadscales=1)
    assert common.dontload
    assert common.dontloadscales
    assert notes == []


def test_stopbackward_is_not_negative() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[maxpool\] stopbackward=-1: must be at least 0\."):
        parse(stopbackward=-1)
