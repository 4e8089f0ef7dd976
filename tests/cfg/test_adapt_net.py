"""[net] for another input size, batch or length of training."""

import pytest

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.errors import CfgError

SIZE = "width=64\nheight=64\nchannels=3\n"
YOLO = "[convolutional]\nfilters=6\nstride=32\n[yolo]\nclasses=1\nanchors=1,2\n"
CLASSIFIER = "[convolutional]\nstride=32\n[avgpool]\n[softmax]\n"


def net(options: str, wishes: Wishes, *, layers: str = YOLO) -> str:
    """The options of [net] afterwards."""
    return adapt(f"[net]\n{options}{layers}", wishes, path="x.cfg").text.removeprefix("[net]\n").removesuffix(layers)


def notes(options: str, wishes: Wishes, *, layers: str = YOLO) -> tuple[str, ...]:
    """What is said about the change."""
    return adapt(f"[net]\n{options}{layers}", wishes, path="x.cfg").notes


def test_a_size_that_is_no_multiple_of_the_stride_is_refused_with_its_neighbours() -> None:
    with pytest.raises(CfgError, match=r"width=100 must be a multiple of 32, .*Wish for 96 or 128"):
        net(SIZE, Wishes(width=100))
    with pytest.raises(CfgError, match=r"height=8 must be a multiple of 32, .*Wish for 32\."):
        net(SIZE, Wishes(height=8))


def test_a_present_size_is_no_mistake_whatever_it_is() -> None:
    odd = SIZE.replace("64", "100")
    assert net(odd, Wishes(width=100, height=100)) == odd


def test_the_stride_is_that_of_the_network() -> None:
    assert "width=24\n" in net(SIZE, Wishes(width=24), layers=YOLO.replace("32", "8"))


@pytest.mark.parametrize("layers", [CLASSIFIER, "[convolutional]\nstride=32\n[connected]\n[detection]\n"])
def test_classifiers_and_detection_take_any_size(layers: str) -> None:
    assert "width=100\n" in net(SIZE, Wishes(width=100), layers=layers)


def test_anchors_that_stay_in_a_network_of_another_size_are_named() -> None:
    note = "x.cfg:1: the anchors stay as they are, in pixels of the new size too."
    assert notes(SIZE, Wishes(width=96))[0].startswith(note)
    assert notes(SIZE, Wishes(width=96), layers=CLASSIFIER) == ()
    assert notes(SIZE, Wishes(width=96, anchors=((3, 4),))) == ()
    assert notes(SIZE, Wishes(width=64)) == ()


def test_channels_are_those_of_pictures() -> None:
    with pytest.raises(CfgError, match=r"x.cfg:1: \[net\] channels=4: pictures load as 1 \(grey\) or 3"):
        net(SIZE, Wishes(channels=4))
    assert net(SIZE.replace("3", "4"), Wishes(channels=4)) == SIZE.replace("3", "4")


def test_batch_must_divide_by_subdivisions() -> None:
    with pytest.raises(CfgError, match="batch=64 is no multiple of subdivisions=3, so 1 of 64 images"):
        net("batch=64\n", Wishes(subdivisions=3))
    with pytest.raises(CfgError, match="batch=4 is no multiple of subdivisions=8, so 4 of 4 images"):
        net("subdivisions=8\n", Wishes(batch=4))
    assert net("batch=10\nsubdivisions=3\n", Wishes(batch=10)) == "batch=10\nsubdivisions=3\n"


def test_contrastive_needs_two_images_of_a_mini_batch() -> None:
    options = "batch=64\nsubdivisions=2\ncontrastive=1\n"
    with pytest.raises(CfgError, match="batch=64 and subdivisions=64 make mini-batches of 1, but contrastive=1"):
        net(options, Wishes(subdivisions=64))
    assert "subdivisions=32" in net(options, Wishes(subdivisions=32))


def test_missing_keys_of_net_are_added() -> None:
    assert net("width = 64\n", Wishes(height=32, batch=2)) == "width = 64\nheight = 32\nbatch = 2\n"
    assert net("width=64\n", Wishes(batch=1, subdivisions=1)) == "width=64\n"  # the defaults


STEPS = "max_batches={}\npolicy=steps\nsteps={}\nscales={}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("500200", "400000,450000", ".1,.1"), ("6000", "4800,5400", ".1,.1")),
        (("500200", "400000, 450000", ".5,.2"), ("6000", "4800, 5400", ".5,.2")),
        (("9", "444000,590000,970000", ".5,.2,.1"), ("6000", "4800,5400", "0.1,0.1")),
        (("9", "1", ".1"), ("6000", "4800,5400", "0.1,0.1")),
        (("9", "-1,100,80,90", ".1,10,.1,.1"), ("6000", "-1,100,4800,5400", ".1,10,.1,.1")),
        (("9", "200,400,600", "2.5,2,2"), ("6000", "200,400,600,4800,5400", "2.5,2,2,0.1,0.1")),
        (("9", "100,5000,8000,9000", "2,2,.1,.1"), ("6000", "4800,5400", ".1,.1")),
    ],
)
def test_steps_that_lower_the_rate_go_to_80_and_90_percent(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert [line.replace("0.1", ".1") for line in net(STEPS.format(*before), Wishes(max_batches=6000)).split("\n")] == [
        line.replace("0.1", ".1") for line in STEPS.format(*after).split("\n")
    ]


def test_rising_steps_that_do_not_fit_are_named() -> None:
    text = STEPS.format("9000", "100,5000,8000,9000", "2,2,.1,.1")
    assert notes(text, Wishes(max_batches=6000)) == (
        "x.cfg:1: [net] the steps that raise the rate, up to 5000, do not fit and are left out.",
    )


def test_missing_steps_and_scales_are_added() -> None:
    assert net("max_batches=9\npolicy=steps\n", Wishes(max_batches=100)) == (
        "max_batches=100\npolicy=steps\nsteps=80,90\nscales=0.1,0.1\n"
    )


def test_present_max_batches_keep_their_steps_unless_the_run_never_reaches_them() -> None:
    text = STEPS.format("6000", "3000,5000", ".1,.1")
    assert net(text, Wishes(max_batches=6000)) == text
    late = STEPS.format("6000", "400000,450000", ".1,.1")
    assert net(late, Wishes(max_batches=6000)) == STEPS.format("6000", "4800,5400", ".1,.1")


def test_another_policy_keeps_its_steps_and_that_is_said() -> None:
    text = "max_batches=9\npolicy={}\nsteps=4,5\n"
    for policy in ("sgdr", "poly#x"):
        options = text.format(policy)
        assert net(options, Wishes(max_batches=100)) == options.replace("9", "100")
    assert notes(text.format("sgdr"), Wishes(max_batches=100)) == (
        "x.cfg:1: [net] policy=sgdr: the steps stay as they are.",
    )
    assert net("max_batches=9\n", Wishes(max_batches=100)) == "max_batches=100\n"


def test_a_burn_in_that_lasts_too_long_is_named() -> None:
    text = "burn_in=1000\n" + STEPS.format("9000", "4000,5000", ".1,.1")
    assert notes(text, Wishes(max_batches=1200)) == (
        "x.cfg:1: [net] burn_in=1000 does not end before the first step at 960.",
    )
