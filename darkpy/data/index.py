"""Image lists, and the label file of a picture.

Source: darknet src/data.c, get_paths; src/utils.c, replace_image_to_label.
"""

from pathlib import Path

from darkpy.cfg.text import read_lines
from darkpy.errors import DataError

# Tried in this order; each replaces its first occurrence. A plain /images/ is left as it is.
_FOLDERS = (
    ("/images/train2017/", "/labels/train2017/"),
    ("/images/val2017/", "/labels/val2017/"),
    ("/JPEGImages/", "/labels/"),
    ("\\images\\train2017\\", "\\labels\\train2017\\"),
    ("\\images\\val2017\\", "\\labels\\val2017\\"),
    ("\\images\\train2014\\", "\\labels\\train2014\\"),
    ("\\images\\val2014\\", "\\labels\\val2014\\"),
    ("/images/train2014/", "/labels/train2014/"),
    ("/images/val2014/", "/labels/val2014/"),
    ("\\JPEGImages\\", "\\labels\\"),
)
# darknet knows jpg, jpeg, png, bmp, ppm and tiff, all small or all capital. For any other picture it takes the
# picture itself for the label file (and -save_labels overwrites it), so every extension that OpenCV reads counts here.
_EXTENSIONS = (
    *("jpg", "jpeg", "png", "bmp", "ppm", "tiff"),
    *("tif", "webp", "gif", "avif", "jpe", "jp2", "jxl", "dib", "pbm", "pgm", "pnm", "pxm", "pam", "pfm"),
    *("sr", "ras", "exr", "hdr", "pic"),
)


def read_image_list(path: Path, *, asked_by: str = "") -> list[str]:
    """Return the picture paths of a list, one for each line that is not blank, ends trimmed, inner blanks kept.

    Args:
        path: The list.
        asked_by: Who names the list, for the message (``"obj.data:2: train"``).

    Raises:
        CfgError: If the list cannot be read.
        DataError: If it names no picture.
    """
    lines = [line.strip() for line in read_lines(path, asked_by=asked_by)]
    pictures = [line for line in lines if line]
    if not pictures:
        where = f"{asked_by}: " if asked_by else ""
        raise DataError(f"{where}{path}: the list is empty; 0 of at least 1 picture. Write one picture path a line.")
    return pictures


def label_path(image_path: str) -> str:
    """Return the label file of a picture: never the picture itself.

    ``/images/train2017/`` and its like become ``/labels/...``, ``/JPEGImages/`` becomes ``/labels/``; a picture's
    extension becomes ``.txt``, and a name without one gets ``.txt`` at its end.
    """
    path = image_path
    for images, labels in _FOLDERS:
        path = path.replace(images, labels, 1)
    path = path.strip(" \t")
    stem, dot, extension = path.rpartition(".")
    return f"{stem}.txt" if dot and extension.lower() in _EXTENSIONS else f"{path}.txt"
