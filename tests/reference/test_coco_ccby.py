"""`detector map` of four pretrained networks on 32 COCO pictures gives the reference program's figures."""

from pathlib import Path

import pytest

from darkpy.tasks.map import measure

pytestmark = [pytest.mark.reference, pytest.mark.slow]


@pytest.mark.parametrize(
    ("net", "detections", "percent", "ratios", "counts"),
    [
        ("yolo-fastest/yolo-fastest-1.1", 5196, "29.77", ("0.46", "0.35", "0.40"), (63, 73, 116, "33.90")),
        ("yolo-fastest/yolo-fastest-1.1-xl", 3822, "35.64", ("0.46", "0.45", "0.46"), (81, 96, 98, "34.39")),
        ("yolo-fastest/yolo-fastest-1.0-xl", 3467, "32.43", ("0.46", "0.45", "0.45"), (80, 95, 99, "33.97")),
        (
            "mobilenet-yolo/MobileNetV2-YOLOv3-Nano-coco",
            3972,
            "30.65",
            ("0.41", "0.37", "0.39"),
            (67, 95, 112, "30.46"),
        ),
    ],
)
def test_f12_figures(
    net: str,
    detections: int,
    percent: str,
    ratios: tuple[str, str, str],
    counts: tuple[int, int, int, str],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """F12.

    One candidate of yolo-fastest-1.1 on 000000005001.jpg has in exact arithmetic a probability 6e-9 below the 0.005
    that it must exceed: the order of float32 sums, and so the number of threads, decides whether it is ranked.
    """
    models = (shared / "models").resolve()
    monkeypatch.chdir(shared / "data/coco-ccby")
    status = measure(
        Path("coco.data"),
        models / f"{net}.cfg",
        models / f"{net}.weights",
        threshold=0.25,
        iou_threshold=0.5,
        points=0,
        device="cpu",
        gpus=None,
        threads=None,
        workers=0,
    )
    out = capsys.readouterr().out
    assert status == 0
    on_the_edge = 1 if net.endswith("1.1") else 0
    counts_in_reach = range(detections - on_the_edge, detections + 1)
    assert any(f" detections_count = {count}, unique_truth_count = 179  \n" in out for count in counts_in_reach)
    assert f", or {percent} % \n" in out
    assert "precision = {}, recall = {}, F1-score = {} \n".format(*ratios) in out
    assert "TP = {}, FP = {}, FN = {}, average IoU = {} % \n".format(*counts) in out
