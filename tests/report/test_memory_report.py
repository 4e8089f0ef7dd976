import re
from collections.abc import Sequence

import pytest

from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip
from darkpy.memory.plan import GB, GIB, Budget, Costs, Machine, States, Tier, Way, card
from darkpy.report.memory_report import Subject, amount, images, inference_lines, training_lines

MACHINE = Machine(7.5e12, 448e9, 12e9)
MB = 10**6
SUBJECT = Subject("net.cfg", "608x608", "the largest of random=1", 16, 0, 32)


def costs(average: int = 0) -> Costs:
    operations = (
        Operation("conv", "layers.3", False, 10**10, Linear(MB)),
        Operation("conv", "", True, 10**10, Linear()),
    )
    kept = Lifetime(Linear(400 * MB), 0, 1, "layers.3", is_saved=True)
    away = Trip(Lifetime(Linear(200 * MB), 0, 0, "layers.3"), 0, (Lifetime(Linear(200 * MB), 1, 1, ""),), (1,))
    traces = (Trace(operations, (kept,)), Trace(operations, (), (away,)))
    tiers = (Tier(0, (Way(traces[0]),)), Tier(2, (Way(traces[1]),)))
    states = States(252 * MB, 2 * MB, 252 * MB, average)
    return Costs(states, tiers, Trace((), ()), 64, 19 * MB)


EIGHT = Budget(card(8), 32 * GB)


def report(budget: Budget = EIGHT, *, average: int = 0, subject: Subject = SUBJECT) -> Sequence[str]:
    return list(training_lines(subject, costs(average), budget, MACHINE))


@pytest.mark.parametrize(
    ("number", "text"), [(168_400_000, "168.4 MB"), (2 * GB, "2.00 GB"), (0, "0.0 MB"), (999_949_999, "999.9 MB")]
)
def test_amounts_are_decimal(number: int, text: str) -> None:
    assert amount(number) == text


def test_one_image_is_no_plural() -> None:
    assert (images(1), images(2)) == ("1 image", "2 images")


def test_what_is_planned_comes_first() -> None:
    assert report()[0] == (
        "net.cfg: training at 608x608 (the largest of random=1), batch=64 subdivisions=16: mini-batch 4"
    )


def test_every_number_has_its_reason() -> None:
    lines = report()
    assert "  parameters           252.0 MB  63,000,000 numbers of 4 bytes" in lines
    assert any(line.startswith("  activations          400.0 MB  an image, in tier 0") for line in lines)
    assert any(line.startswith("  biggest layer        400.0 MB  an image: layer 3;") for line in lines)
    assert any("the largest one: each is freed once it is in the momentum (all together: 252.0 MB)" in x for x in lines)
    assert (
        "  So 252.0 MB of weights become 2.37 GB on the device: 506.0 MB of states, 268.4 MB of workspace, "
        "and 4 images x 400.0 MB." in lines
    )
    assert not any("ema_alpha" in line for line in lines)


def test_an_average_of_the_weights_is_named() -> None:
    assert "  average              252.0 MB  of the weights: ema_alpha" in report(average=252 * MB)


def test_each_tier_has_its_row() -> None:
    rows = [line.split() for line in report() if "s per 64 images" in line]
    assert [row[0] for row in rows] == ["0", "2"]
    assert rows[0][1:6] == ["2.37", "GB", "400.0", "MB", "-"]
    assert rows[1][5:7] == ["1.07", "GB"]  # 4 x 200 MB are one block
    assert rows[0][7] == "18"


def test_cards_are_listed_with_their_subdivisions() -> None:
    found = [re.match(r" +(\d+) GB +(\S.*)", line) for line in report()]
    rows = {one[1]: one[2].split() for one in found if one}
    assert rows["8"] == ["16", "/", "4", "32", "/", "2"]
    assert list(rows) == ["2", "4", "6", "8", "11", "16", "24", "48", "80"]


def test_the_lines_to_paste_come_last() -> None:
    assert report()[-5:] == [
        "As it stands (subdivisions=16, optimized_memory=0), the cfg fits: 2.37 GB of 8.09 GB.",
        report()[-4],
        "batch=64",
        "subdivisions=2",
        "optimized_memory=2",
    ]
    assert report()[-4].startswith("The largest mini-batch that fits: 32 images in 7.17 GB and 6.44 GB of pinned RAM, ")


def test_it_is_said_when_the_cfg_does_not_fit_and_when_nothing_does() -> None:
    assert "does not fit: 2.37 GB of 1.65 GB." in report(Budget(card(2), 32 * GB))[-5]
    lines = report(Budget(GIB // 2, 32 * GB))
    assert lines[-1] == "Nothing fits, not even a mini-batch of 1. Lower width and height, or use a larger card."
    assert sum("does not fit" in line for line in lines) == 3


def test_assumptions_are_printed() -> None:
    text = "\n".join(report())
    assert "0.6 of 7.5 TFLOP/s for convolutions, 0.8 of 448 GB/s for the other passes" in text
    assert "A card's 'GB' are 2**30, less 0.5 GB for its context. Of 32.00 GB of RAM, 75% may be pinned" in text


def test_detection_is_weights_and_the_largest_live_set() -> None:
    trace = costs().tiers[0].trace
    lines = list(inference_lines(SUBJECT, 250 * MB, trace))
    assert lines[0] == "net.cfg: detecting at 608x608, one picture at a time"
    assert lines[1].startswith("  weights              250.0 MB")
    assert lines[2].startswith("  largest live set     400.0 MB  what is needed at once, in layer 3;")
    assert lines[-1] == "  in all                1.42 GB  on the card"
