"""``darkpy data check | from-voc | from-coco | from-folders | to-coco | split``: data sets before a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from darkpy.cli._darknet import DarknetGroup, darknet_settings
from darkpy.cli._options import word
from darkpy.cli._types import FILE, POSITIVE, SEED, Number

F = TypeVar("F", bound=Callable[..., Any])
SHARE = Number(0.001, 0.999)


@click.group(cls=DarknetGroup, context_settings=darknet_settings())
def data() -> None:
    """Check a data set; bring it from and to other forms; split it."""


@data.command()
@click.argument("obj", type=FILE, metavar="OBJ.data")
@click.argument("net", type=FILE, required=False, metavar="[NET.cfg]")
@word("-json", keyword="as_json", help="Print JSON, for editors.")
@word("-all", keyword="show_all", help="Print every finding, not the first of each kind.")
@word("-sheet", FILE, help="Write a picture of samples with their boxes.")
@word("-force", help="Replace the file of -sheet if it exists.")
@word("-workers", POSITIVE, help="Threads that read pictures (default: one for each core).")
def check(obj: Path, net: Path | None, **options: Any) -> int:
    """Read every list, picture and label of OBJ.data and say what is wrong. Changes no file.

    Exit status: 0 nothing to mend, 3 warnings, 1 errors.
    """
    from darkpy.tasks.data_check import check as task

    return task(obj, net, **options)


def _output(function: F) -> F:
    """Declare the options that all commands with a new folder share."""
    for option in (
        word("-force", help="Write into a folder that is not empty, over files of the same names."),
        word("-link", help="Make hard links to the pictures instead of copies, where the disk can."),
        word("-o", FILE, keyword="out", required=True, help="The new folder."),
    ):
        function = option(function)
    return function


def _share(function: F) -> F:
    """Declare the options of a split."""
    for option in (
        word("-seed", SEED, help="Chooses which pictures are valid (default: 0)."),
        word("-valid", SHARE, help="Share of the pictures that become valid, between 0 and 1 (default: 0.2)."),
    ):
        function = option(function)
    return function


@data.command("from-voc")
@click.argument("folders", type=FILE, metavar="FOLDER...", nargs=-1, required=True)
@word("-names", FILE, help="A .names file: classes and their order (default: all, sorted by name).")
@word(
    "-difficult",
    click.Choice(["skip", "keep", "list"]),
    default="skip",
    help="Difficult objects: leave out, take as others, or put those of the valid list into a list for map.",
)
@word("-first_pixel", click.IntRange(0, 1), default=1, help="What boxes call the first pixel: 1 as in VOC, or 0.")
@_output
def from_voc(folders: tuple[Path, ...], **options: Any) -> int:
    """Write a darknet data set from XML annotations (Pascal VOC, labelImg).

    FOLDER is a VOC folder (Annotations, JPEGImages, ImageSets), a VOCdevkit, or any folder with XML files and pictures.
    With annotations for a test set, train is trainval and valid is test; else train is train and valid is val. A box
    covers the pixels xmin to xmax, counted from 1; it is cut at the picture's edge. The picture's own size counts, not
    that of the XML. Objects without a size, and annotations without a picture, are left out and counted; pictures
    without an annotation too: they are no proof that nothing is there. Pictures are copied; nothing is changed.
    """
    from darkpy.tasks.from_voc import from_voc as task

    return task(folders, **options)


@data.command("from-coco")
@click.argument("annotations", type=FILE, metavar="ANNOTATIONS.json...", nargs=-1, required=True)
@word("-images", FILE, help="The folder of the pictures (default: beside the JSON, in images, or in NAME).")
@word("-names", FILE, help="A .names file: classes and their order (default: all categories, by their ids).")
@word(
    "-crowd",
    click.Choice(["skip", "keep", "list"]),
    default="skip",
    help="Crowds (iscrowd): leave out, take as others, or put those of the valid list into a list for map.",
)
@_output
def from_coco(annotations: tuple[Path, ...], **options: Any) -> int:
    """Write a darknet data set from annotation files of MS COCO's form.

    Each JSON becomes a list: instances_train2017.json becomes train2017.txt. Category ids are numbered from 0 without
    gaps, in their order, over all files. The bbox counts, else the bounds of the polygons; a mask alone is left out.
    Fractions of a pixel stay; boxes may overhang the picture, but by no more than half of it. A picture without
    annotations gets an empty label file: nothing is there. Objects without size or of unknown pictures, and pictures
    that are not there, are left out and counted. Pictures are copied; nothing is changed.
    """
    from darkpy.tasks.from_coco import from_coco as task

    return task(annotations, **options)


@data.command("from-folders")
@click.argument("folder", type=FILE, metavar="FOLDER")
@_share
@_output
def from_folders(folder: Path, **options: Any) -> int:
    """Write a classifier's data set from folders that are named after classes.

    FOLDER holds train/CLASS and val/CLASS (or valid, test), or CLASS alone, which is split. darknet finds the class of
    a picture by the label inside its path, so each label is written as a whole folder name, /CLASS/: no other part of a
    path reads the same, and "cat" is not found in "wildcat" or "cathy". Pictures are copied; nothing is changed.
    """
    from darkpy.tasks.from_folders import from_folders as task

    return task(folder, **options)


@data.command("to-coco")
@click.argument("obj", type=FILE, metavar="OBJ.data")
@word("-list", click.Choice(["valid", "train"]), keyword="which", default="valid", help="Which list.")
@word("-o", FILE, keyword="out", required=True, help="The new JSON file.")
@word("-force", help="Replace the file if it exists.")
def to_coco(obj: Path, **options: Any) -> int:
    """Write a list of OBJ.data as an annotation file of MS COCO's form.

    Category ids are class numbers plus 1; image ids are the numbers in the pictures' names where all differ, as in the
    results of 'detector valid', else places in the list. Sizes are those of pictures turned upright as EXIF says.
    Objects of the difficult list become crowds (iscrowd 1), which score as neither right nor wrong.
    """
    from darkpy.tasks.to_coco import to_coco as task

    return task(obj, **options)


@data.command()
@click.argument("source", type=FILE, metavar="LIST|OBJ.data|FOLDER")
@_share
@word(
    "-group",
    click.Choice(["content", "folder"]),
    default="content",
    help="What stays together: pictures with the same content, or also all of a folder (frames of a video).",
)
@word("-o", FILE, keyword="out", required=True, help="The folder of the new lists.")
@word("-force", help="Replace lists that exist.")
def split(source: Path, **options: Any) -> int:
    """Share a list out into train.txt and valid.txt, so that both have every class.

    Of OBJ.data, the train list is shared out, and a new .data file names both. No picture is copied or moved.
    """
    from darkpy.tasks.split import split as task

    return task(source, **options)
