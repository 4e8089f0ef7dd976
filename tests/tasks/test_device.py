import platform

import pytest
import torch

from darkpy.errors import SetupError
from darkpy.tasks import _device
from darkpy.tasks._device import choose_device, keep_freed_memory, set_threads


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Pretend that a machine has so many devices of each kind."""

    def pretend(**counts: int) -> None:
        monkeypatch.setattr(_device, "_count", lambda kind: counts.get(kind, 0))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: counts.get("cuda", 0) > 0)

    pretend()
    return pretend


@pytest.mark.parametrize(
    ("counts", "kind"),
    [({}, "cpu"), ({"cuda": 1}, "cuda"), ({"mps": 1}, "mps"), ({"xpu": 1}, "xpu"), ({"cuda": 1, "xpu": 1}, "cuda")],
)
def test_the_fastest_device_is_the_default(machine, counts: dict[str, int], kind: str) -> None:
    machine(**counts)
    assert choose_device(None, gpus=None) == (torch.device(kind), ())


@pytest.mark.parametrize(
    ("name", "device"),
    [("cpu", torch.device("cpu")), ("cuda", torch.device("cuda", 0)), ("cuda:1", torch.device("cuda", 1)),
     ("mps", torch.device("mps", 0)), ("xpu:0", torch.device("xpu", 0))],
)  # fmt: skip
def test_a_device_by_name(machine, name: str, device: torch.device) -> None:
    machine(cuda=2, mps=1, xpu=1)
    assert choose_device(name, gpus=None) == (device, ())


def test_a_gpu_by_number(machine) -> None:
    machine(cuda=2)
    assert choose_device(None, gpus=(1,)) == (torch.device("cuda", 1), ())


def test_g10_a_gpu_without_cuda_is_the_cpu_with_a_note(machine) -> None:
    device, notes = choose_device(None, gpus=(0,))
    assert device == torch.device("cpu")
    assert notes == ("-gpus 0: PyTorch finds no CUDA device on this machine, so this runs on cpu.",)


def test_a_device_wins_over_gpus_with_a_note(machine) -> None:
    assert choose_device("cpu", gpus=(0,)) == (torch.device("cpu"), ("-gpus 0 has no effect beside -device cpu.",))


def test_several_gpus_are_refused(machine) -> None:
    machine(cuda=4)
    with pytest.raises(SetupError, match=r"^-gpus 2,3: 2 devices, but darkpy uses one for now\. Name one: -gpus 2\.$"):
        choose_device(None, gpus=(2, 3))


def test_a_number_that_is_too_high_is_refused(machine) -> None:
    machine(cuda=2)
    with pytest.raises(SetupError, match=r"^cuda:3: this machine has cuda:0 to cuda:1\. Write -device cuda:0\.$"):
        choose_device("cuda:3", gpus=None)
    with pytest.raises(SetupError, match=r"^cuda:2: "):
        choose_device(None, gpus=(2,))


@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps", "xpu"])
def test_a_missing_kind_is_refused(machine, name: str) -> None:
    kind = name.partition(":")[0]
    with pytest.raises(
        SetupError, match=rf"PyTorch finds no {kind} device here\. Write -device cpu, or leave -device out"
    ):
        choose_device(name, gpus=None)


def test_this_machine_can_be_asked() -> None:
    device, notes = choose_device(None, gpus=None)
    assert torch.zeros(2, device=device).sum().item() == 0
    assert notes == ()


def test_threads_are_set_or_left() -> None:
    before = torch.get_num_threads()
    try:
        set_threads(1)
        assert torch.get_num_threads() == 1
        set_threads(None)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_freed_memory_is_kept_on_linux_unless_the_environment_says_how() -> None:
    assert keep_freed_memory({}, platform="linux") == (platform.libc_ver()[0] == "glibc")
    assert not keep_freed_memory({"MALLOC_TRIM_THRESHOLD_": "65536"}, platform="linux")
    assert not keep_freed_memory({}, platform="win32")
    assert not keep_freed_memory({}, platform="darwin")
