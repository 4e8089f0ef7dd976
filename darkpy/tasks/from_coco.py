"""``darkpy data from-coco``: annotation files of COCO's form -> a data set of darknet's form."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from darkpy.conversion.class_names import check_names, names_of
from darkpy.conversion.coco_pictures import CocoPictures
from darkpy.conversion.coco_read import CocoFile, list_name, merged_categories, read_coco, roles_of
from darkpy.conversion.picture_files import DARKNET_EXTENSIONS
from darkpy.conversion.sample import Sample, Tally, make_sample
from darkpy.conversion.writer import APART, check_out
from darkpy.errors import DataError
from darkpy.files import is_among
from darkpy.tasks._conversion import labelled, tell, tell_case_twins, tell_odd_extensions, write_set
from darkpy.tasks._say import say


def from_coco(
    annotations: Sequence[Path],
    *,
    images: Path | None,
    out: Path,
    names: Path | None,
    crowd: str,
    link: bool,
    force: bool,
) -> int:
    """Write the data set, and print what it holds.

    Args:
        annotations: The JSON files; each becomes a list.
        images: The folder of the pictures; None looks where COCO and its like have them.
        out: The new folder.
        names: A .names file that gives the classes and their order; other objects are left out. None takes all
            categories, in the order of their ids.
        crowd: ``skip`` leaves crowds out; ``keep`` takes them as other objects; ``list`` writes those of the valid list
            as a second list, for the key ``difficult`` of .data.
        link: Make hard links to the pictures instead of copies.
        force: Write into a folder that is not empty.

    Raises:
        DataError: If a file cannot be read or written, or no picture is found.
        CfgError: If the .names file cannot be read.
    """
    tally = Tally()
    _refuse_twice(annotations)
    files = _named([read_coco(path, tally) for path in annotations])
    categories = merged_categories(list(files.values()))
    classes = names_of((), names) if names else check_names(list(categories.values()), str(annotations[0]))
    roles = roles_of(list(files))
    fates = {name: "skip" if crowd == "list" and name != roles.get("valid") else crowd for name in files}
    samples = {name: _samples(file, images, name, classes, fates[name], tally) for name, file in files.items()}
    if not any(samples.values()):
        _refuse(files, images)
    check_out(out, sources={one.picture.parent for some in samples.values() for one in some}, force=force)
    pictures = {name: labelled(some, clip=False, tally=tally) for name, some in samples.items()}
    tell(tally)
    tell_odd_extensions((one.picture for some in samples.values() for one in some), DARKNET_EXTENSIONS)
    tell_case_twins(classes)
    _tell_numbers(categories, classes)
    if crowd == "list" and "valid" not in roles:
        say("-crowd list has no effect without a valid list: crowds are left out.")
    if "train" not in roles:
        say("No train list: name the JSON of the training pictures too, to train.")
    write_set(pictures, out, names=classes, roles=roles, link=link, with_apart=crowd == "list")
    return 0


def _refuse_twice(annotations: Sequence[Path]) -> None:
    for number, path in enumerate(annotations):
        if is_among(path, annotations[:number]):
            raise DataError(f"{path}: is named twice, but each file becomes a list of its own. Name it once.")


def _named(files: Sequence[CocoFile]) -> dict[str, CocoFile]:
    """Return the files by the names of their lists, each name once, also on a disk that knows no letter case."""
    named: dict[str, CocoFile] = {}
    taken = {APART}  # the list of the difficult objects
    for file in files:
        name, number = list_name(file.path), 1
        while (free := name if number == 1 else f"{name}_{number}").casefold() in taken:
            number += 1
        taken.add(free.casefold())
        named[free] = file
    return named


def _samples(
    file: CocoFile, images: Path | None, name: str, classes: Sequence[str], crowd: str, tally: Tally
) -> list[Sample]:
    pictures = CocoPictures(file.path, images, name=name)
    numbers = {name: number for number, name in enumerate(classes)}
    by_category = {category: numbers.get(name) for category, name in file.categories.items()}
    samples, taken = [], set()
    for image in file.images:
        picture = pictures.find(image.file_name)
        if picture is None or picture in taken:
            why = "are not there" if picture is None else "have the file of another one"
            tally.add(f"pictures that {why}, left out", f"{image.file_name} of {file.path}")
            continue
        taken.add(picture)
        objects = []
        for category, box, is_crowd in image.objects:
            number = by_category[category]
            if number is None:
                what = f"objects of class '{file.categories[category]}', which -names does not have, left out"
                tally.add(what, image.file_name)
            elif is_crowd and crowd == "skip":
                tally.add("crowds, left out (-crowd keep takes them)", image.file_name)
            else:
                objects.append((number, box, is_crowd and crowd == "list"))
        samples.append(make_sample(picture, image.size, objects))
    return samples


def _refuse(files: Mapping[str, CocoFile], images: Path | None) -> None:
    name, file = next(iter(files.items()))
    count = sum(len(one.images) for one in files.values())
    looked = ", ".join(str(folder) for folder in CocoPictures(file.path, images, name=name).folders)
    example = f", such as {file.images[0].file_name}," if file.images else ""
    raise DataError(
        f"{file.path}: 0 of {count} pictures{example} are in {looked}. Name their folder with -images FOLDER."
    )


def _tell_numbers(categories: Mapping[int, str], classes: Sequence[str]) -> None:
    """Say on stderr which class is which category, a run of numbers at a time."""
    runs: list[tuple[int, int, int]] = []  # first and last class, category id of the first
    for class_id, number in sorted(
        (classes.index(name), number) for number, name in categories.items() if name in classes
    ):
        if runs and (class_id, number) == (runs[-1][1] + 1, runs[-1][2] + class_id - runs[-1][0]):
            runs[-1] = (runs[-1][0], class_id, runs[-1][2])
        else:
            runs.append((class_id, class_id, number))
    parts = (f"{_span(first, last)} from id {_span(number, number + last - first)}" for first, last, number in runs)
    say(f"Classes from categories: {', '.join(parts)}.")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
