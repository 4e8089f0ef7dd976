"""What bounds host memory, read from made-up trees of /proc and /sys."""

from collections.abc import Callable
from pathlib import Path

import pytest

from darkpy.errors import MemoryPlanError
from darkpy.memory.limits import Limit, check_room, limits, size_text, soft_limit

GIB = 2**30
MIB = 2**20


def none(name: str) -> None:
    return None


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def of(**values: int) -> Callable[[str], int | None]:
    return lambda name: values.get(name)


def test_a_system_that_tells_nothing_bounds_nothing(tmp_path: Path) -> None:
    """As macOS and Windows."""
    assert limits(tmp_path / "proc", groups=tmp_path / "cgroup", of_process=of(RLIMIT_AS=GIB)) == []
    check_room(100 * GIB, [], asked="much")


def test_a_share_of_what_the_machine_has_is_left_alone(tmp_path: Path) -> None:
    write(
        tmp_path / "meminfo", f"MemTotal:  {4 * MIB} kB\nMemFree: 1 kB\nMemAvailable:  {MIB} kB\nHugePages_Total: 0\n"
    )
    (limit,) = limits(tmp_path, groups=tmp_path, of_process=none)
    assert limit.left == GIB - 256 * MIB
    assert limit.text == "the machine has 1.00 GiB to give (MemAvailable), 0.25 GiB of which are left alone"
    write(tmp_path / "meminfo", f"MemTotal: {100 * MIB} kB\nMemAvailable: {50 * MIB} kB\n")
    assert limits(tmp_path, groups=tmp_path, of_process=none)[0].left == 45 * GIB


def test_a_machine_that_promises_no_more_than_it_has_is_believed(tmp_path: Path) -> None:
    write(tmp_path / "meminfo", f"CommitLimit: {2 * MIB} kB\nCommitted_AS: {MIB} kB\n")
    write(tmp_path / "sys/vm/overcommit_memory", "0\n")
    assert limits(tmp_path, groups=tmp_path, of_process=none) == []
    write(tmp_path / "sys/vm/overcommit_memory", "2\n")
    (limit,) = limits(tmp_path, groups=tmp_path, of_process=none)
    assert limit == Limit(
        "the machine promises 2.00 GiB, of which 1.00 GiB are used (CommitLimit, vm.overcommit_memory=2)", GIB
    )


def test_each_group_that_a_group_is_in_counts(tmp_path: Path) -> None:
    """Version 2: memory.max and memory.high; files that were read only once are no memory in use."""
    groups = tmp_path / "cgroup"
    write(tmp_path / "self/cgroup", "0::/user/job\n")
    write(groups / "user/job/memory.max", "max\n")
    write(groups / "user/job/memory.high", f"{3 * GIB}\n")
    write(groups / "user/job/memory.current", f"{2 * GIB}\n")
    write(groups / "user/job/memory.stat", f"anon 7\ninactive_file {GIB // 2}\nactive_file {GIB // 2}\n")
    write(groups / "user/memory.max", f"{4 * GIB}\n")
    write(groups / "user/memory.current", f"{3 * GIB}\n")
    found = limits(tmp_path, groups=groups, of_process=none)
    assert [limit.left for limit in found] == [2 * GIB, GIB]
    used = "the control group allows 3.00 GiB, of which 1.00 GiB are used"
    assert found[0].text == f"{used} ({groups / 'user/job/memory.high'})"
    assert found[1].text.endswith(f"({groups / 'user/memory.max'})")


@pytest.mark.parametrize("path", ["/", "/docker/0123", "/../other"])
def test_within_a_container_the_root_is_its_own_group(tmp_path: Path, path: str) -> None:
    groups = tmp_path / "cgroup"
    write(tmp_path / "self/cgroup", f"0::{path}\n")
    write(groups / "memory.max", f"{GIB}\n")
    write(groups / "memory.current", f"{2 * GIB}\n")
    assert [limit.left for limit in limits(tmp_path, groups=groups, of_process=none)] == [-GIB]


def test_groups_of_version_1_count(tmp_path: Path) -> None:
    groups = tmp_path / "cgroup"
    write(tmp_path / "self/cgroup", "5:devices:/\n4:cpu,memory:/docker/1\n0::/\n")
    for folder, limit in (("memory/docker/1", 2 * GIB), ("memory", 9223372036854771712)):
        write(groups / folder / "memory.limit_in_bytes", f"{limit}\n")
        write(groups / folder / "memory.usage_in_bytes", f"{GIB}\n")
        write(groups / folder / "memory.stat", f"inactive_file 0\ntotal_inactive_file {GIB // 4}\n")
    (limit,) = limits(tmp_path, groups=groups, of_process=none)
    assert limit.left == GIB + GIB // 4
    assert str(groups / "memory/docker/1/memory.limit_in_bytes") in limit.text


def test_more_cache_than_use_is_no_use(tmp_path: Path) -> None:
    """The two are read one after the other."""
    write(tmp_path / "self/cgroup", "0::/\n")
    write(tmp_path / "memory.max", f"{GIB}\n")
    write(tmp_path / "memory.current", "4096\n")
    write(tmp_path / "memory.stat", "active_file 8192\n")
    assert [limit.left for limit in limits(tmp_path, groups=tmp_path, of_process=none)] == [GIB]


def test_limits_of_the_process_are_named_as_the_shell_has_them(tmp_path: Path) -> None:
    write(tmp_path / "self/status", f"Name:\tpython\nVmSize:\t {3 * MIB} kB\nVmData:\t {MIB} kB\n")
    found = limits(tmp_path, groups=tmp_path, of_process=of(RLIMIT_AS=4 * GIB, RLIMIT_DATA=2 * GIB))
    assert found == [
        Limit("the process may have 4.00 GiB, of which 3.00 GiB are used (RLIMIT_AS, ulimit -v)", GIB),
        Limit("the process may have 2.00 GiB, of which 1.00 GiB are used (RLIMIT_DATA, ulimit -d)", GIB),
    ]
    assert limits(tmp_path, groups=tmp_path, of_process=none) == []


@pytest.mark.parametrize("content", [b"", b"\xff\x00\xfe", b"MemAvailable:\n", b"MemAvailable: many kB\n", b"::\n:"])
def test_nonsense_bounds_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "self").mkdir()
    for name in ("meminfo", "self/cgroup", "self/status", "memory.max", "memory.current"):
        (tmp_path / name).write_bytes(content)
    assert limits(tmp_path, groups=tmp_path, of_process=of(RLIMIT_AS=GIB)) == []


def test_the_tightest_limit_is_named_with_the_settings_that_help() -> None:
    """Case H04."""
    found = [Limit("wide", 5 * GIB), Limit("tight", GIB - 1), Limit("also tight", GIB)]
    with pytest.raises(MemoryPlanError) as caught:
        check_room(GIB, found, asked="1.00 GiB of host memory")
    assert str(caught.value) == (
        "1.00 GiB of host memory cannot be had: tight. Set optimized_memory=1, a larger subdivisions= "
        "(a smaller mini-batch), or offload_file= to use a disk."
    )
    check_room(GIB - 1, found, asked="a little less")


@pytest.mark.parametrize(
    ("nbytes", "text"), [(GIB, "1.00 GiB"), (GIB // 4, "0.25 GiB"), (8 * MIB, "8.00 MiB"), (-3 * GIB, "-3.00 GiB")]
)
def test_sizes_read_well(nbytes: int, text: str) -> None:
    assert size_text(nbytes) == text


def test_this_machine_can_be_asked() -> None:
    for limit in limits():
        assert "\n" not in limit.text
    assert soft_limit("RLIMIT_NONE_SUCH") is None
