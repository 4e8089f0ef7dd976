from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.data.index import label_path, read_image_list
from darkpy.errors import CfgError, DataError


def write(folder: Path, raw: bytes) -> Path:
    path = folder / "train.txt"
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    ("raw", "pictures"),
    [
        pytest.param(b"/data/a b/x 1.jpg\n", ["/data/a b/x 1.jpg"], id="C02 blanks inside stay"),
        pytest.param(b"x.jpg  \n\t y.jpg\t\n", ["x.jpg", "y.jpg"], id="C03 blanks at the ends go"),
        pytest.param(b"x.jpg\ny.jpg\n\n", ["x.jpg", "y.jpg"], id="C04 blank last line"),
        pytest.param(b"x.jpg\r\ny.jpg", ["x.jpg", "y.jpg"], id="C05 CRLF, last line without an end"),
        pytest.param(b"\xef\xbb\xbfx.jpg\n", ["x.jpg"], id="C07 UTF-8 mark"),
        pytest.param("\ufeffx.jpg\r\ny.jpg\r\n".encode("utf-16-le"), ["x.jpg", "y.jpg"], id="UTF-16"),
        pytest.param("bild/süß.jpg\n".encode(), ["bild/süß.jpg"], id="UTF-8"),
    ],
)
def test_lists(tmp_path: Path, raw: bytes, pictures: list[str]) -> None:
    assert read_image_list(write(tmp_path, raw)) == pictures


@pytest.mark.parametrize("raw", [b"", b"\n  \r\n\t\n"])
def test_an_empty_list_is_refused_with_who_asked(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(
        DataError, match=r"obj\.data:2: train: .*train\.txt: the list is empty; 0 of at least 1 picture"
    ):
        read_image_list(write(tmp_path, raw), asked_by="obj.data:2: train")


def test_a_missing_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"nowhere\.txt: not found"):
        read_image_list(tmp_path / "nowhere.txt")


@pytest.mark.parametrize(
    ("image", "label"),
    [
        pytest.param("/c/images/train2017/1.jpg", "/c/labels/train2017/1.txt", id="C16 COCO"),
        pytest.param("/c/images/val2017/1.jpg", "/c/labels/val2017/1.txt", id="val2017"),
        pytest.param("/c/images/train2014/1.jpg", "/c/labels/train2014/1.txt", id="train2014"),
        pytest.param("/v/JPEGImages/1.jpg", "/v/labels/1.txt", id="C16 VOC"),
        pytest.param("c:\\images\\val2014\\1.png", "c:\\labels\\val2014\\1.txt", id="backslashes"),
        pytest.param("\\v\\JPEGImages\\1.bmp", "\\v\\labels\\1.txt", id="VOC, backslashes"),
        pytest.param("/d/images/1.jpg", "/d/images/1.txt", id="C17 plain images folder"),
        pytest.param("/JPEGImages/JPEGImages/1.jpg", "/labels/JPEGImages/1.txt", id="first occurrence only"),
        pytest.param("/data/a b/x 1.jpg", "/data/a b/x 1.txt", id="C02"),
        pytest.param("/data.v1/img", "/data.v1/img.txt", id="C19 no extension"),
        pytest.param("a.jpg.png", "a.jpg.txt", id="last extension only"),
        pytest.param(" x.PPM\t", "x.txt", id="trimmed"),
        pytest.param("x.Jpg", "x.txt", id="mixed case"),
        pytest.param("x.webp", "x.txt", id="webp"),
        pytest.param("x.tif", "x.txt", id="tif"),
        pytest.param("img.001", "img.001.txt", id="a dot that begins no extension"),
        pytest.param("x.txt", "x.txt.txt", id="never the picture itself"),
    ],
)
def test_label_path(image: str, label: str) -> None:
    assert label_path(image) == label


@pytest.mark.parametrize(
    "extension", ["jpg", "JPG", "jpeg", "JPEG", "png", "PNG", "bmp", "BMP", "ppm", "PPM", "tiff", "TIFF"]
)
def test_the_extensions_of_darknet(extension: str) -> None:
    assert label_path(f"/a/b.{extension}") == "/a/b.txt"


PARTS = st.sampled_from(
    ["/", "\\", ".", " ", "a", "images", "labels", "JPEGImages", "train2017", "val2014", ".jpg", ".txt", ".TIF", "\t"]
)


@settings(deadline=None)
@given(st.lists(PARTS, max_size=12).map("".join))
def test_law_a_label_file_is_never_the_picture(image: str) -> None:
    label = label_path(image)
    assert label != image
    assert label.endswith(".txt")
