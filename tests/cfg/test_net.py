"""[net]: input, schedule, augmentation."""

import pytest

from darkpy.cfg.net import NetSpec, net_warnings
from darkpy.cfg.options import Options
from darkpy.cfg.text import parse_sections
from darkpy.errors import CfgError

INPUT = ("width=64", "height=32", "channels=3")


def options(*lines: str) -> Options:
    (section,) = parse_sections(["[net]", *INPUT, *lines], "x.cfg")
    return Options(section)


def parse(*lines: str) -> NetSpec:
    return NetSpec.parse(options(*lines))


def test_defaults_are_those_of_darknet() -> None:
    spec = parse()
    assert (spec.width, spec.height, spec.channels) == (64, 32, 3)
    assert (spec.batch, spec.subdivisions, spec.max_batches, spec.burn_in) == (1, 1, 0, 0)
    assert (spec.learning_rate, spec.learning_rate_min, spec.momentum, spec.decay) == (0.001, 0.00001, 0.9, 0.0001)
    assert (spec.policy, spec.power, spec.step, spec.scale, spec.gamma) == ("constant", 4.0, 1, 1.0, 1.0)
    assert (spec.flip, spec.saturation, spec.exposure, spec.hue) == (True, 1.0, 1.0, 0.0)
    assert (spec.mosaic, spec.mosaic_bound, spec.letter_box, spec.resize_step) == (False, False, False, 32)
    assert (spec.sgdr_cycle, spec.sgdr_mult, spec.max_chart_loss) == (0, 2, 20.0)


def test_loud_defaults_come_in_darknets_order() -> None:
    read = options()
    NetSpec.parse(read)
    assert [note.partition(":")[0] for note in read.notes] == [
        "max_batches",
        "batch",
        "learning_rate",
        "momentum",
        "decay",
        "subdivisions",
        "policy",
    ]


@pytest.mark.parametrize(
    ("batch", "subdivisions", "mini_batch", "images"), [(64, 8, 8, 64), (10, 4, 2, 8), (1, 16, 1, 16), (64, 1, 64, 64)]
)
def test_mini_batch_is_batch_over_subdivisions(batch: int, subdivisions: int, mini_batch: int, images: int) -> None:
    spec = parse(f"batch={batch}", f"subdivisions={subdivisions}")
    assert (spec.mini_batch, spec.images_per_iteration) == (mini_batch, images)


def test_a05_a06_first_of_equal_keys_counts() -> None:
    """A05: batch=1 then batch=64; A06: decay twice. Each is warned about with both lines."""
    read = options("batch=1", "batch=64", "decay=0.0005", "decay=0.00005")
    spec = NetSpec.parse(read)
    assert (spec.batch, spec.decay) == (1, 0.0005)
    assert net_warnings(read) == [
        "x.cfg:6: 'batch' stands in line 5 already; the first counts (1), this one (64) is ignored.",
        "x.cfg:8: 'decay' stands in line 7 already; the first counts (0.0005), this one (0.00005) is ignored.",
    ]


def test_a10_a12_steps_and_scales() -> None:
    """A10: real steps; A12: blanks everywhere; surplus scales are left out."""
    spec = parse("policy=steps", "steps=4800.0, 5400.0", "scales = .1    ,.2  , .3")
    assert spec.steps == (4800, 5400)
    assert spec.scales == (0.1, 0.2)


@pytest.mark.parametrize(("line", "missing"), [("steps=1,2", "scales"), ("scales=.1", "steps"), ("hue=0", "steps")])
def test_policy_steps_needs_both_lists(line: str, missing: str) -> None:
    """Case A07."""
    with pytest.raises(
        CfgError, match=rf"^x\.cfg:5: \[net\] policy=steps: STEPS policy .* but {missing} is missing\. Add"
    ):
        parse("policy=steps", line)


def test_a08_fewer_scales_than_steps_is_an_error() -> None:
    """A08: 3 steps, 2 scales."""
    with pytest.raises(
        CfgError, match=r"^x\.cfg:7: \[net\] scales=\.1,\.1: 3 steps but 2 scales\. Give one scale for each"
    ):
        parse("policy=steps", "steps=100,200,300", "scales=.1,.1")


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(CfgError, match=r"policy=step_s: unknown value\. .* Did you mean steps\?$"):
        parse("policy=step_s")


def test_a_cycle_of_no_length_is_an_error() -> None:
    with pytest.raises(CfgError, match=r"sgdr_cycle=0: must be at least 1\.$"):
        parse("policy=sgdr", "sgdr_cycle=0")


def test_zero_subdivisions_are_an_error() -> None:
    with pytest.raises(CfgError, match=r"^x\.cfg:5: \[net\] subdivisions=0: must be at least 1\.$"):
        parse("subdivisions=0")


def test_an_input_of_no_size_is_an_error() -> None:
    (section,) = parse_sections(["[net]", "width=64", "channels=3"], "x.cfg")
    with pytest.raises(
        CfgError, match=r"^x\.cfg:1: \[net\] No input parameters supplied: width=64, height=0, channels=3\."
    ):
        NetSpec.parse(Options(section))


@pytest.mark.parametrize("channels", [2, 4])
def test_e07_two_and_four_channels_are_an_error(channels: int) -> None:
    """E07: channels=2; with 4, darknet loads 3 and reads on behind the picture."""
    (section,) = parse_sections(["[net]", "width=64", "height=64", f"channels={channels}"], "x.cfg")
    with pytest.raises(
        CfgError,
        match=rf"^x\.cfg:4: \[net\] channels={channels}: {channels} channels not supported: .* Set channels=3\.$",
    ):
        NetSpec.parse(Options(section))


def test_zero_saturation_and_exposure_mean_no_change() -> None:
    spec = parse("saturation=0", "exposure=0")
    assert (spec.saturation, spec.exposure) == (1.0, 1.0)


def test_keys_of_classifiers_and_of_later_versions_are_known() -> None:
    read = options("angle=0", "aspect=1", "max_crop=448", "ema_alpha=0.0", "loss_scale=1.0", "mixup=0", "seen=0")
    NetSpec.parse(read)
    assert net_warnings(read) == []
    assert not [note for note in read.notes if "no effect" in note]


def test_a_setting_without_effect_is_announced_with_its_line() -> None:
    read = options("attention=1")
    NetSpec.parse(read)
    assert read.notes[-1] == "x.cfg:5: [net] attention=1 has no effect in this version of darkpy."


@pytest.mark.parametrize("line", ["angle=7", "aspect=0.75"])
def test_what_only_classifiers_do_to_pictures_is_announced_with_the_reason(line: str) -> None:
    read = options(line)
    NetSpec.parse(read)
    assert read.notes[-1] == (
        f"x.cfg:5: [net] {line} has no effect: darknet turns and stretches only the pictures of classifiers."
    )


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("mini_batch=16", "Unused field: 'mini_batch = 16'. The mini-batch is batch / subdivisions: use subdivisions."),
        ("epochs=3", "Unused field: 'epochs = 3'. darknet counts iterations: use max_batches."),
        ("batchs=3", "Unused field: 'batchs = 3'. Did you mean 'batch'?"),
        ("foo=1", "Unused field: 'foo = 1'."),
    ],
)
def test_a36_unknown_keys_are_reported_with_advice(line: str, warning: str) -> None:
    """A36, and mini_batch: net keys that darknet passes over in silence."""
    read = options(line)
    NetSpec.parse(read)
    assert net_warnings(read) == [f"x.cfg:5: {warning}"]


def test_lr_is_taken_for_learning_rate() -> None:
    read = options("lr=1")
    NetSpec.parse(read)
    assert net_warnings(read) == ["x.cfg:5: Unused field: 'lr = 1'. Did you mean 'learning_rate'?"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("B1=1", "must be below 1"),
        ("B2=999", "must be below 1"),
        ("eps=0", "must be above 0"),
        ("ema_alpha=9998", "must be below 1"),
        ("ema_alpha=-1", "must be at least 0"),
    ],
)
def test_values_that_end_in_infinity_are_refused(line: str, rule: str) -> None:
    with pytest.raises(CfgError, match=rf"x\.cfg:5: \[net\] {line}: {rule}\."):
        parse(line)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("augment_speed=4", "has no effect without track=1."),
        ("time_steps=3", "has no effect in this version of darkpy."),
    ],
)
def test_keys_of_video_training_are_announced(line: str, note: str) -> None:
    read = options(line)
    NetSpec.parse(read)
    assert read.notes[-1] == f"x.cfg:5: [net] {line} {note}"


def test_augment_speed_beside_track_waits_for_tracking() -> None:
    read = options("track=1", "augment_speed=4")
    NetSpec.parse(read)
    assert read.notes[-1] == "x.cfg:6: [net] augment_speed=4 has no effect in this version of darkpy."
