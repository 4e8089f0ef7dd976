"""A cfg read again with some values mended, so that one mistake hides no other and is not said twice."""

from collections.abc import Mapping
from dataclasses import replace

from darkpy.cfg.text import Entry, Section
from darkpy.checks.cfg_survey import Survey, survey_sections

_OF_SHAPES = ("shape", "filters")  # codes of what rests on sizes and channels


def read_again(
    survey: Survey, *, net: Mapping[str, str] | None = None, layers: Mapping[int, Mapping[str, str]] | None = None
) -> Survey:
    """Return the survey of a cfg with other values: how layers fit is judged anew, all else that was found stays.

    Args:
        survey: Of the cfg; it has a [net].
        net: Values of [net], by key.
        layers: Values of layers, by index and key.
    """
    assert survey.net_options is not None
    sections = [_mended(survey.net_options.section, net or {})]
    sections += [_mended(layer.section, (layers or {}).get(layer.index, {})) for layer in survey.layers]
    again = survey_sections(sections, survey.path)
    kept = [one for one in survey.diagnostics if one.code not in _OF_SHAPES]
    fits = [one for one in again.diagnostics if one.code in _OF_SHAPES]
    return replace(again, diagnostics=(*kept, *fits), left_out=survey.left_out, is_whole=survey.is_whole)


def _mended(section: Section, values: Mapping[str, str]) -> Section:
    """Return a section with other values, each in the line of its key, or in the section's."""
    lines = {key: entry.line if (entry := section.find(key)) else section.line for key in values}
    others = tuple(entry for entry in section.entries if entry.key not in values)
    return replace(section, entries=(*others, *(Entry(key, value, lines[key]) for key, value in values.items())))
