"""``python -m darkpy`` and the command ``darkpy``."""

import sys

from darkpy.cli.main import run_process


def main() -> None:
    """Run the process's command line and exit with its status."""
    sys.exit(run_process())


if __name__ == "__main__":
    main()
