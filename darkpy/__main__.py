"""``python -m darkpy`` and the command ``darkpy``."""

import sys

from darkpy.cli.main import close_quietly, prepare_streams, run


def main() -> None:
    """Run the process's command line and exit with its status."""
    prepare_streams()
    try:
        status = run()
    finally:
        close_quietly()
    sys.exit(status)


if __name__ == "__main__":
    main()
