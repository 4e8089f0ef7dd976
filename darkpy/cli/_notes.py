"""Lines on stderr: what the command line itself has to say."""

import click


def note(text: str) -> None:
    """Print one line that is no result."""
    click.echo(f"Note: {text}", err=True)
