"""``darkpy data from-voc``: annotations of Pascal VOC's form -> a data set of darknet's form."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from darkpy.conversion.class_names import names_of
from darkpy.conversion.picture_files import DARKNET_EXTENSIONS
from darkpy.conversion.sample import Sample, Tally, make_sample
from darkpy.conversion.voc import VocAnnotation, read_annotation
from darkpy.conversion.voc_folder import PictureFinder, VocFolder, share, voc_folders
from darkpy.conversion.writer import check_out
from darkpy.errors import DataError
from darkpy.tasks._conversion import labelled, tell, tell_case_twins, tell_odd_extensions, write_set
from darkpy.tasks._say import say

Found = tuple[VocAnnotation, Path]  # an annotation, and its picture


def from_voc(
    folders: Sequence[Path],
    *,
    out: Path,
    names: Path | None,
    difficult: str,
    first_pixel: int,
    link: bool,
    force: bool,
) -> int:
    """Write the data set, and print what it holds.

    Args:
        folders: VOC folders, VOCdevkits, or folders with XML files.
        out: The new folder.
        names: A .names file that gives the classes and their order; other objects are left out. None takes all, sorted.
        difficult: ``skip`` leaves difficult objects out, as darknet's voc_label.py does; ``keep`` takes them as others;
            ``list`` writes those of the valid list as a second list, for the key ``difficult`` of .data.
        first_pixel: What the first pixel of a picture is called in the files: 1 as in VOC, or 0.
        link: Make hard links to the pictures instead of copies.
        force: Write into a folder that is not empty.

    Raises:
        DataError: If an annotation cannot be read, or a file cannot be written.
        CfgError: If the .names file cannot be read.
    """
    tally = Tally()
    sets = [one for folder in folders for one in voc_folders(folder, tally)]
    lists = share(sets, tally)
    found = _read(sets, {one for members in lists.values() for one in members}, first_pixel, tally)
    classes = names_of((thing.name for annotation, _ in found.values() for thing in annotation.objects), names)
    check_out(out, sources={picture.parent for _, picture in found.values()}, force=force)
    tell_case_twins(classes)
    if names is None:
        say("Classes are numbered in the order of their names. Give another order with -names FILE.")
    samples = {
        key: [_sample(*found[one], classes, _fate(difficult, key), tally) for one in members if one in found]
        for key, members in lists.items()
    }
    pictures = {key: labelled(some, clip=True, tally=tally) for key, some in samples.items() if some}
    has_valid = bool(pictures.get("valid"))
    tell(tally)
    tell_odd_extensions((picture for _, picture in found.values()), DARKNET_EXTENSIONS)
    if not has_valid:
        say("No valid list: ImageSets/Main names none. 'darkpy data split' makes one.")
    if difficult == "list" and not has_valid:
        say("-difficult list has no effect without a valid list: difficult objects are left out.")
    roles = {key: key for key in pictures}
    write_set(pictures, out, names=classes, roles=roles, link=link, with_apart=difficult == "list")
    return 0


def _read(sets: Sequence[VocFolder], wanted: set[Path], first_pixel: int, tally: Tally) -> Mapping[Path, Found]:
    finder, found = PictureFinder(), {}
    for one in sets:
        for path in one.annotations.values():
            if path not in wanted:
                continue
            annotation = read_annotation(path, first_pixel=first_pixel, tally=tally)
            picture = finder.find(path, root=one.path, filename=annotation.filename)
            if picture is None:
                tally.add("annotations whose picture is not there, left out", path)
            else:
                found[path] = (annotation, picture)
    if not found:
        tell(tally)
        raise DataError(f"{sets[0].path}: 0 of {len(wanted)} annotations have a picture. Put the pictures beside them.")
    return found


def _fate(difficult: str, key: str) -> str:
    """Return what becomes of the difficult objects of a list: .data has a second list of the valid one only."""
    return "skip" if difficult == "list" and key != "valid" else difficult


def _sample(annotation: VocAnnotation, picture: Path, classes: Sequence[str], difficult: str, tally: Tally) -> Sample:
    numbers = {name: number for number, name in enumerate(classes)}
    objects = []
    for thing in annotation.objects:
        if thing.name not in numbers:
            tally.add(f"objects of class '{thing.name}', which -names does not have, left out", annotation.path)
        elif thing.is_difficult and difficult == "skip":
            tally.add("difficult objects, left out (-difficult keep takes them)", annotation.path)
        else:
            objects.append((numbers[thing.name], thing.edges, thing.is_difficult and difficult == "list"))
    return make_sample(picture, annotation.size, objects)
