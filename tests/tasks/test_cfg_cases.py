"""What detector train, test and map make of odd cfg and .data files."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from darkpy.errors import CfgError, DataError
from darkpy.network import Network, read_blueprint
from darkpy.tasks.map import measure
from darkpy.tasks.test import test as detect
from darkpy.tasks.train import train
from darkpy.weights import save_weights

CFG = """
[net]
batch={batch}
subdivisions={subdivisions}
width=32
height=32
channels=3
max_batches=1

[convolutional]
filters=21
size=3
stride=16
pad=1
activation=linear

[yolo]
classes=2
num=3
mask=0,1,2
anchors=10,10, 20,20, 30,30
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with eight pictures, a .data file, and one network with batch=1 and one with batch=64."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for number in range(8):
        cv2.imwrite(f"{number}.png", rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        Path(f"{number}.txt").write_text("1 0.5 0.5 0.4 0.4\n")
    Path("list.txt").write_text("".join(f"{number}.png\n" for number in range(8)))
    Path("obj.names").write_text("cat\ndog\n")
    Path("obj.data").write_text("classes=2\ntrain=list.txt\nvalid=list.txt\nnames=obj.names\nbackup=deep/backup\n")
    Path("one.cfg").write_text(CFG.format(batch=1, subdivisions=1))
    Path("many.cfg").write_text(CFG.format(batch=64, subdivisions=16))
    torch.manual_seed(0)
    network = Network(read_blueprint(Path("one.cfg")))
    save_weights(network, Path("net.weights"), seen=0)
    return tmp_path


def run_training(cfg: Path, *, measure_map: bool = False) -> int:
    return train(
        Path("obj.data"), cfg, None,
        clear=False, measure_map=measure_map, map_epochs=4, threshold=0.25, iou_threshold=0.5, dont_show=True,
        chart=None, device="cpu", gpus=None, seed=1, threads=1, workers=0,
    )  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_a20_a31_test_finds_the_same_with_any_batch(capsys: pytest.CaptureFixture[str]) -> None:
    """A20, A31: batch=1 is good for detector test, and batch=64 subdivisions=16 gives the same boxes."""
    printed = []
    for cfg in ("one.cfg", "many.cfg"):
        status = detect(
            Path("obj.data"), Path(cfg), Path("net.weights"), Path("0.png"),
            threshold=0.2, letter_box=False, ext_output=True, save_labels=False, out=None, dont_show=True,
            device="cpu", gpus=None, seed=1, threads=1,
        )  # fmt: skip
        assert status == 0
        lines = capsys.readouterr().out.splitlines()
        printed.append([line for line in lines if "%" in line])
    assert printed[0] == printed[1]
    assert printed[0]


@pytest.mark.usefixtures("folder")
def test_a20_map_takes_batch_1(capsys: pytest.CaptureFixture[str]) -> None:
    """A20: the file that train refuses."""
    status = measure(
        Path("obj.data"), Path("one.cfg"), Path("net.weights"),
        threshold=0.25, iou_threshold=0.5, points=0, device="cpu", gpus=None, threads=1, workers=0,
    )  # fmt: skip
    assert status == 0
    assert "mean average precision (mAP@0.50)" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a20_train_refuses_batch_1() -> None:
    """A20: and says what to set."""
    with pytest.raises(CfgError, match=r"one\.cfg.*batch=1.*batch=64"):
        run_training(Path("one.cfg"))
    assert not Path("deep").exists()


def test_c13_map_with_a_missing_valid_list_fails_before_the_first_iteration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C13: -map, and the file that ``valid`` names is missing."""
    data = folder / "obj.data"
    data.write_text(data.read_text().replace("valid=list.txt", "valid=gone.txt"))
    with pytest.raises(DataError, match=r"^obj\.data:3: valid: .*There is no gone\.txt file for mAP calculation"):
        run_training(Path("many.cfg"), measure_map=True)
    assert "avg loss" not in capsys.readouterr().out
    assert not (folder / "deep").exists()


@pytest.mark.slow
def test_c20_the_backup_folder_is_made(folder: Path) -> None:
    """C20: ``backup`` names a folder that does not exist."""
    (folder / "few.cfg").write_text(CFG.format(batch=2, subdivisions=1))
    assert run_training(Path("few.cfg")) == 0
    assert (folder / "deep" / "backup" / "few_final.weights").stat().st_size == (folder / "net.weights").stat().st_size
