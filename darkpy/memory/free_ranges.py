"""The free ranges of a row of addresses: first fit, neighbours join again.

Source: Knuth 1997, The Art of Computer Programming, vol. 1, section 2.5 (first fit, ordered by address).
"""

from bisect import bisect_left, bisect_right
from operator import sub

ENDLESS = 2**62  # the address where the row ends, further than any memory
_LARGEST = 64  # ranges of one group; a full one is halved


class FreeRanges:
    """Ranges that nobody has, rising, in groups that each know their longest: a search looks into one group only."""

    def __init__(self) -> None:
        self._starts: list[list[int]] = [[0]]
        self._stops: list[list[int]] = [[ENDLESS]]
        self._firsts = [0]  # start of each group's first range
        self._longest = [ENDLESS]  # of each group

    def __iter__(self) -> "zip[tuple[int, int]]":
        """Iterate over (start, stop), rising; the last stop is ``ENDLESS``."""
        starts = (start for group in self._starts for start in group)
        return zip(starts, (stop for group in self._stops for stop in group), strict=True)

    @property
    def rest(self) -> int:
        """Where the last range begins, behind which all is free."""
        return self._starts[-1][-1]

    def find(self, size: int) -> int:
        """Return the lowest start of a range of at least ``size``."""
        group = next(index for index, longest in enumerate(self._longest) if longest >= size)
        pairs = zip(self._starts[group], self._stops[group], strict=True)
        return next(start for start, stop in pairs if stop - start >= size)

    def remove(self, start: int, size: int) -> None:
        """Take the first ``size`` of the free range that begins at ``start``."""
        group = bisect_right(self._firsts, start) - 1
        index = bisect_left(self._starts[group], start)
        if self._stops[group][index] - start == size:
            del self._starts[group][index], self._stops[group][index]
        else:
            self._starts[group][index] = start + size
        self._update(group)

    def add(self, start: int, stop: int) -> None:
        """Give a range back that is not free; its free neighbours join it."""
        group = max(bisect_right(self._firsts, start) - 1, 0)
        starts, stops = self._starts[group], self._stops[group]
        index = bisect_left(starts, start)
        if index and stops[index - 1] == start:
            index -= 1
            stops[index] = stop
        else:
            starts.insert(index, start)
            stops.insert(index, stop)
        following, place = (group, index + 1) if index + 1 < len(starts) else (group + 1, 0)
        if following < len(self._starts) and self._starts[following][place] == stop:
            stops[index] = self._stops[following][place]
            del self._starts[following][place], self._stops[following][place]
            if following != group:
                self._update(following)
        self._update(group)

    def _update(self, group: int) -> None:
        """Put right what is known of a group; drop an empty one, halve a large one."""
        starts, stops = self._starts[group], self._stops[group]
        if not starts:
            del self._starts[group], self._stops[group], self._firsts[group], self._longest[group]
            return
        if len(starts) > _LARGEST:
            half = len(starts) // 2
            self._starts[group : group + 1] = [starts[:half], starts[half:]]
            self._stops[group : group + 1] = [stops[:half], stops[half:]]
            self._firsts.insert(group + 1, starts[half])
            self._longest.insert(group + 1, max(map(sub, stops[half:], starts[half:])))
            starts, stops = self._starts[group], self._stops[group]
        self._firsts[group] = starts[0]
        self._longest[group] = max(map(sub, stops, starts))
