"""How PyTorch's CPU threads wait, which is settled before PyTorch is loaded."""

from collections.abc import MutableMapping

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def let_idle_threads_sleep(environment: MutableMapping[str, str]) -> None:
    """Have OpenMP's threads sleep between two operations, not run in a circle: the processes that load need the cores.

    On two cores that load for a small network the circle took up to ten times the time of the work itself.
    Whoever sets one of OpenMP's own variables is left alone.

    Args:
        environment: The process's environment, to be changed before OpenMP is loaded.
    """
    if not any(name in environment for name in _SETTINGS):
        environment["OMP_WAIT_POLICY"] = "passive"
