"""What [net]'s keys of augmentation come to, what is said about them, and runs that use them."""

from pathlib import Path

import cv2
import pytest
from training_project import Project, losses

from darkpy.blueprint import read_blueprint
from darkpy.errors import CfgError
from darkpy.network import Network
from darkpy.tasks._training_data import augmentation, refuse_cutmix

REFUSAL = "\n cutmix=1 - isn't supported for Detector (use cutmix=1 only for Classifier) \n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def told(project: Project, net: str, capsys: pytest.CaptureFixture[str]) -> tuple[tuple[bool, bool], str]:
    """Return whether there is mosaic and mixup, and what is said on stdout."""
    project.write_cfg(net=net)
    blueprint = read_blueprint(project.cfg)
    refuse_cutmix(blueprint.net)
    spec = augmentation(Network(blueprint))
    return (spec.mosaic, spec.mixup), capsys.readouterr().out


@pytest.mark.parametrize(
    ("net", "mix", "refused"),
    [
        ("", (False, False), False),
        ("mixup=1", (False, True), False),
        ("mosaic=1", (True, False), False),
        ("mixup=3", (True, False), False),  # mosaic by its number
        ("cutmix=1", (False, False), True),
        ("mixup=2", (False, False), True),
        ("mosaic=1\ncutmix=1", (True, False), True),
        ("mixup=4", (True, False), True),
        ("mixup=1\nmosaic=1", (True, False), False),
        ("mixup=1\ncutmix=1", (False, False), True),
        ("mixup=3\nletter_box=1", (True, False), False),
        ("mixup=1\nletter_box=1", (False, True), False),
    ],
)
def test_the_ways_to_mix_pictures(
    project: Project, net: str, mix: tuple[bool, bool], refused: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is said about those that shut each other out is tested with the checks."""
    assert told(project, net, capsys) == (mix, REFUSAL if refused else "")


@pytest.mark.parametrize("mode", [5, -1])
def test_a_mixup_that_names_no_mode_is_an_error(
    project: Project, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CfgError, match=rf"net\.cfg:10: \[net\] mixup={mode}: must be at (least 0|most 4)\."):
        told(project, f"mixup={mode}", capsys)


def test_blur_noise_and_letter_box_reach_the_loader(project: Project) -> None:
    project.write_cfg(net="blur=9\ngaussian_noise=30\nletter_box=1")
    spec = augmentation(Network(read_blueprint(project.cfg)))
    assert (spec.blur, spec.gaussian_noise, spec.letter_box) == (9, 30, True)


@pytest.mark.parametrize(
    "net", ["mixup=1\nblur=5\ngaussian_noise=30", "mosaic=1\nblur=1\ngaussian_noise=9", "letter_box=1"]
)
def test_a_run_repeats_itself_with_workers(project: Project, net: str, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(head="random=1", net=net)
    curves = []
    for workers in (0, 2):
        project.train(workers=workers, threads=1)
        curves.append(losses(capsys.readouterr().out))
    assert len(curves[0]) == 4
    assert curves[0] == curves[1]


def test_show_imgs_saves_every_row_says_so_once_and_changes_no_loss(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_cfg(net="mixup=1")
    curves = []
    for show_imgs in (False, True):
        project.train(threads=1, seed=5, show_imgs=show_imgs)
        out, err = capsys.readouterr()
        curves.append(losses(out))
        assert err.count("-show_imgs: every training picture is saved here with its boxes, as aug_") == show_imgs
        saved = {path.name for path in project.folder.glob("aug_*")}
        expected = {f"aug_{iteration}_{row}_5.jpg" for iteration in range(1, 5) for row in range(8)}
        assert saved == (expected if show_imgs else set())
    assert curves[0] == curves[1]
    assert all(cv2.imread(str(project.folder / name)) is not None for name in saved)
