"""Rules about pictures (darkpy/checks/data_pictures.py) that a planted file does not show."""

from dataclasses import replace
from pathlib import Path

import pytest
from clean_data import add, checked, found, message, write_clean_set, write_picture

from darkpy.checks.data_pictures import picture_diagnostics


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clean_set()


def test_capital_extensions_name_a_form_too() -> None:
    add("obj/t4.png")
    Path("obj/t4.png").rename("obj/t4.JPG")
    Path("train.txt").write_text(Path("train.txt").read_text().replace("t4.png", "t4.JPG"))
    assert (
        message("wrong-name") == "'obj/t4.JPG' is named as a JPEG, but is a PNG; it is read by its content. Rename it."
    )
    add("obj/t5.jpg")
    Path("obj/t5.jpg").rename("obj/t5.JPG")
    Path("train.txt").write_text(Path("train.txt").read_text().replace("t5.jpg", "t5.JPG"))
    assert [code for _, code, _, _ in found()] == ["wrong-name"]


@pytest.mark.parametrize(
    ("form", "words"), [("JPEG", "four colour channels (CMYK)"), ("PNG", "an alpha channel (RGBA)")]
)
def test_the_fourth_channel_is_named(form: str, words: str) -> None:
    data = checked().data
    assert data is not None
    first = data.samples[0]
    odd = replace(first, path=f"a.{form}", picture=replace(first.picture, form=form, channels=4))
    data = replace(data, samples=(odd, *data.samples[1:]))
    (one,) = picture_diagnostics(data, channels=3, data_folder=Path())
    assert one.message == f"'a.{form}' has {words}, read as RGB."


def test_half_of_the_pictures_grey_is_no_grey_set() -> None:
    add("obj/t4.png")
    for name in ("t1", "t2", "t3"):
        write_picture(Path(f"obj/{name}.png"), channels=1)
    assert [code for _, code, _, _ in found()] == ["grey"] * 3
    write_picture(Path("obj/v1.png"), channels=1)
    assert [code for _, code, _, _ in found()] == ["grey-set"]
