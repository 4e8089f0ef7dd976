"""darknet's grammar on click: whole words after one dash, anywhere on the line.

Source: darknet src/utils.c, find_arg.
"""

import difflib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import click

from darkpy.cli._notes import note

HELP_NAMES = ("--help", "-help", "-h")
_CONTROL = str.maketrans("", "", "\t\r\n")

OptionTable = Mapping[str, click.Option]  # every spelling -> its option


class DarknetCommand(click.Command):
    """A command whose options are whole words after one dash: ``-map``, ``-gpus 0,1``.

    The first of equal options counts, as in darknet; a later one that differs is announced.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Check and tidy the words, then let click read them."""
        options = option_table(self.get_params(ctx))
        words = deque(without_control_characters(args))
        kept: list[str] = []
        seen: dict[str | None, list[str]] = {}
        while words:
            if words[0] == "--":
                kept += words
                break
            if not is_option(words[0]):
                kept.append(words.popleft())
                continue
            option, taken = take_option(words, options, ctx)
            earlier = seen.setdefault(option.name, taken)
            if earlier is taken:
                kept += taken
            elif _values(earlier) != _values(taken):
                note(f"{' '.join(taken)} has no effect after {' '.join(earlier)}: the first counts, as in darknet.")
        return super().parse_args(ctx, kept)


class DarknetGroup(click.Group):
    """Commands that also take their options before their own name: ``detector -map train a.data a.cfg``."""

    command_class = DarknetCommand
    group_class = type
    absent: Sequence[str] = ()  # darknet's commands that darkpy does not have yet
    elsewhere: Mapping[str, str] = {}  # a name that stands one level deeper -> where

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move options that stand before the command's name behind it, then let click read the words."""
        own = option_table(self.get_params(ctx))
        options = {**option_table(_options_below(self)), **own}
        own_names = {option.name for option in own.values()}
        words = deque(without_control_characters(args))
        mine: list[str] = []
        moved: list[str] = []
        while words and words[0] != "--" and is_option(words[0]):
            option, taken = take_option(words, options, ctx)
            (mine if option.name in own_names else moved).extend(taken)
        if not words and moved:
            ctx.fail(f"{moved[0]} is there, but no command. {self._names()}")
        return super().parse_args(ctx, [*mine, *list(words)[:1], *moved, *list(words)[1:]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names.

        Raises:
            click.UsageError: If there is none; says which one may be meant.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            self._refuse(ctx, name)
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: click.Context, name: str) -> NoReturn:
        if name in self.absent:
            ctx.fail(f"'{ctx.command_path} {name}' is not in this version of darkpy. {self._names()}")
        near = self.elsewhere.get(name) or nearest(name, [*self.commands, *self.absent])
        hint = f"Did you mean '{near}'?" if near else self._names()
        ctx.fail(f"No such command '{name}'. {hint}")

    def _names(self) -> str:
        return f"There is: {', '.join(self.commands)}."


def without_control_characters(words: Iterable[str]) -> list[str]:
    """Return the words without TAB, CR and LF, as darknet reads them (scripts with CRLF line ends leave CRs)."""
    cleaned = ((word, word.translate(_CONTROL)) for word in words)
    return [clean for word, clean in cleaned if clean or not word]


def is_option(word: str) -> bool:
    """Return whether a word is an option by its looks: a dash and more."""
    return len(word) > 1 and word.startswith("-")


def option_table(params: Iterable[click.Parameter]) -> dict[str, click.Option]:
    """Return every spelling of every option."""
    options = [param for param in params if isinstance(param, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def take_option(words: deque[str], options: OptionTable, ctx: click.Context) -> tuple[click.Option, list[str]]:
    """Remove one option with its value from the front.

    Returns:
        The option, and its words with the name as declared.

    Raises:
        click.NoSuchOption: If nothing is called so; says which one may be meant (else click reads -claer as -c laer).
        click.BadOptionUsage: If its value is missing.
    """
    written, equals, value = words.popleft().partition("=")
    name = written.replace("-", "_").replace("__", "--", 1) if written.startswith("--") else written
    if name not in options:
        near = nearest(name, options)
        hint = f" Did you mean '{near}'?" if near else ""
        raise click.NoSuchOption(written, message=f"No such option '{written}'.{hint}", ctx=ctx)
    option = options[name]
    count = 0 if option.is_flag or option.count else option.nargs
    if equals:
        return option, [f"{name}={value}"]
    if count > len(words) or (count and words[0].partition("=")[0] in options):
        follows = f", but '{words[0]}' follows" if words else ""
        raise click.BadOptionUsage(name, f"Option '{written}' needs a value{follows}.", ctx=ctx)
    return option, [name, *(words.popleft() for _ in range(count))]


def nearest(word: str, possibilities: Iterable[str]) -> str | None:
    """Return the possibility that ``word`` may be a slip of, whatever its case, dashes and underscores."""
    plain: dict[str, str] = {}
    for name in possibilities:
        plain.setdefault(_plain(name), name)
    near = difflib.get_close_matches(_plain(word), plain, n=1)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _values(taken: list[str]) -> list[str]:
    """Return an option's values: ``-thresh 0.5`` and ``--thresh=0.5`` have the same."""
    _, equals, value = taken[0].partition("=")
    return [value] if equals else taken[1:]


def _options_below(group: click.Group) -> list[click.Parameter]:
    below: list[click.Parameter] = []
    for command in group.commands.values():
        below += _options_below(command) if isinstance(command, click.Group) else command.params
    return below


def darknet_settings() -> dict[str, Any]:
    """Return click's context settings that every command shares."""
    return {"help_option_names": list(HELP_NAMES), "max_content_width": 110}
