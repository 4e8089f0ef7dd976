"""A set of pictures -> two parts that both have every class, where that is possible.

Source: Sechidis, Tsoumakas, Vlahavas 2011, On the Stratification of Multi-Label Data (iterative stratification).
"""

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def stay_together(keys: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Return the groups of items that share a key, directly or over others, in order of their first items.

    Args:
        keys: For each item its keys, such as the hash of its content and its folder.
    """
    leader = list(range(len(keys)))

    def top(item: int) -> int:
        while leader[item] != item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    owner: dict[Hashable, int] = {}
    for item, own in enumerate(keys):
        for key in own:
            first, second = sorted((top(item), top(owner.setdefault(key, item))))
            leader[second] = first
    groups: dict[int, list[int]] = {}
    for item in range(len(keys)):
        groups.setdefault(top(item), []).append(item)
    return list(groups.values())


def choose_valid(counts: Counts, sizes: Counts, *, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Choose which groups of pictures become the valid part; of two groups or more, each part gets one.

    The rarest class is shared out first. Each class that two groups have is given to both parts, as far as its groups
    are not bound by rarer classes.

    Args:
        counts: (G, C) pictures of each group that have each class.
        sizes: (G,) pictures of each group.
        share: Of the pictures that go to valid, in (0, 1).
        rng: Breaks the order.

    Returns:
        (G,), False for train.
    """
    has_nothing = sizes * (counts.sum(axis=1) == 0)  # pictures without objects are a class, too
    table = np.concatenate([counts, has_nothing[:, None]], axis=1).astype(np.float64)
    groups_of = (table > 0).sum(axis=0)
    total = table.sum(axis=0)
    valid_need = np.where(groups_of > 1, np.maximum(total * share, 1.0), total * share)
    need = np.stack([total - valid_need, valid_need])  # (2, C) pictures that train and valid still want
    room = np.array([sizes.sum() * (1 - share), sizes.sum() * share])
    side = np.full(len(sizes), -1)
    order = rng.permutation(len(sizes))
    for column in np.argsort(groups_of, kind="stable"):
        for group in order[(table[order, column] > 0) & (side[order] < 0)]:
            wish, space = need[:, column], room
            chosen = int(wish[1] > wish[0] or (wish[1] == wish[0] and space[1] > space[0]))
            side[group] = chosen
            need[chosen] -= table[group]
            room[chosen] -= sizes[group]
    return _with_both_parts(_with_every_class(side == 1, table[:, :-1]), sizes)


def _with_every_class(is_valid: npt.NDArray[np.bool_], table: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Move one group to the part that lacks a class, where that takes the last of no class from the other part."""
    is_valid = is_valid.copy()
    for column in np.flatnonzero((table > 0).sum(axis=0) > 1):
        for part in (True, False):
            if (table[is_valid == part, column] > 0).any():
                continue
            for group in np.flatnonzero(table[:, column] > 0):
                left = (table[is_valid != part] > 0).sum(axis=0) - (table[group] > 0)
                if (left[table[group] > 0] > 0).all():
                    is_valid[group] = part
                    break
    return is_valid


def _with_both_parts(is_valid: npt.NDArray[np.bool_], sizes: Counts) -> npt.NDArray[np.bool_]:
    """Move the smallest group to a part that has none: an empty list is no use to anyone."""
    if len(sizes) > 1 and (is_valid.all() or not is_valid.any()):
        is_valid[sizes.argmin()] ^= True
    return is_valid
