"""A classifier's set: it has no label files, as the class of a picture is the label that its path holds.

Source: darknet src/data.c, fill_truth ("Too many or too few labels").
"""

from collections.abc import Iterator, Sequence

import numpy as np

from darkpy.checks.data_labels import ClassNames
from darkpy.checks.data_set import DataSet, Integers
from darkpy.conversion.folders import matches
from darkpy.diagnostics import Diagnostic, Severity

_SHOWN = 4  # labels of a message


def is_classifier_set(data: DataSet, labels: ClassNames) -> bool:
    """Return whether there are labels for paths, and not one label file."""
    return bool(labels.names) and all(sample.label.failure == "missing" for sample in data.samples)


def classes_of_paths(data: DataSet, labels: ClassNames) -> list[list[int]]:
    """Return for each picture the labels that darknet finds in its path."""
    return [matches(sample.path, labels.names) for sample in data.samples]


def picture_counts(data: DataSet, classes: Sequence[Sequence[int]], labels: ClassNames) -> Integers:
    """Return (lists, classes): pictures of each class in each list."""
    counts = np.zeros((len(data.lists), len(labels.names)), np.int64)
    for index, found in enumerate(classes):
        if len(found) == 1:
            counts[:, found[0]] += data.members[:, index]
    return counts


def path_diagnostics(
    data: DataSet, classes: Sequence[Sequence[int]], counts: Integers, labels: ClassNames
) -> Iterator[Diagnostic]:
    """Yield pictures without one class, and classes without a picture.

    Args:
        data: The set.
        classes: As ``classes_of_paths`` returns.
        counts: As ``picture_counts`` returns.
        labels: The labels, and where they stand.
    """
    for index, found in enumerate(classes):
        if len(found) != 1:
            yield Diagnostic(Severity.ERROR, "path-label", *data.place(index), _labels_text(data, index, found, labels))
    for row, listed in enumerate(data.lists):
        for class_id in np.flatnonzero(counts[row] == 0):
            follows = "it is not learned" if listed.key == "train" else "its accuracy is not measured"
            message = f"no path in {listed.path} holds '{labels.names[class_id]}': {follows}. Add pictures of it."
            yield Diagnostic(Severity.WARNING, "class-without-pictures", labels.path, labels.lines[class_id], message)


def _labels_text(data: DataSet, index: int, found: Sequence[int], labels: ClassNames) -> str:
    shown = ", ".join(f"'{labels.names[class_id]}'" for class_id in found[:_SHOWN])
    shown += ", ..." if len(found) > _SHOWN else ""
    holds = f"{len(found)} labels ({shown})" if found else "0 labels"
    return (
        f"'{data.samples[index].path}' holds {holds} of {labels.path}, but a picture has exactly 1 class. Rename the "
        "picture, its folder, or a label (darkpy data from-folders does)."
    )
