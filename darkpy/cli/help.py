"""``darkpy help``: the pages in darkpy/docs."""

from pathlib import Path

import click

from darkpy.cli._darknet import DarknetCommand, darknet_settings, nearest

_DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[str, Path]:
    """Return the pages by name, sorted."""
    return {path.stem: path for path in sorted(_DOCS.glob("*.md"))}


@click.command("help", cls=DarknetCommand, context_settings=darknet_settings())
@click.argument("page", required=False, metavar="[PAGE]")
@click.pass_context
def show(ctx: click.Context, page: str | None) -> int:
    """Show a page of documentation; without PAGE, list them."""
    found = pages()
    if page is None:
        click.echo("Pages, shown by darkpy help PAGE:")
        for name, path in found.items():
            click.echo(f"  {name:<10}  {title(path)}")
        click.echo("Options of a command: darkpy COMMAND --help")
        return 0
    if page not in found:
        raise click.UsageError(f"There is no page '{page}'. {_hint(page, found, ctx)}")
    click.echo(found[page].read_text("utf-8"), nl=False)
    return 0


def title(path: Path) -> str:
    """Return what a page is about: its first line."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _hint(page: str, found: dict[str, Path], ctx: click.Context) -> str:
    group = ctx.parent.command if ctx.parent is not None else None
    if isinstance(group, click.Group) and page in group.commands:
        return f"'{page}' is a command: darkpy {page} --help."
    near = nearest(page, found)
    return f"Did you mean '{near}'?" if near else f"There is: {', '.join(found)}."
