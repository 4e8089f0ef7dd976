"""How PyTorch's CPU threads wait (darkpy/cli/_openmp.py)."""

import pytest

from darkpy.cli._openmp import let_idle_threads_sleep


def test_threads_sleep_unless_told_otherwise() -> None:
    environment = {"HOME": "/root"}
    let_idle_threads_sleep(environment)
    assert environment == {"HOME": "/root", "OMP_WAIT_POLICY": "passive"}


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_the_users_own_setting_stays(name: str) -> None:
    environment = {name: "1"}
    let_idle_threads_sleep(environment)
    assert environment == {name: "1"}
