"""Which of the tensors that a step saves stay as they are: the last ones, which backward asks for first.

The peak of a step comes late in backward, at the largest layer. When forward ends there is room for two tensors of that
size, or nearly three where speed matters more; what is kept there need not travel, nor be computed again. Which ones
are the last is known from the step before, if that saved tensors of the same sizes.
"""


class Suffix:
    """Decides on each tensor that a step saves, in order.

    Args:
        tight: Whether memory at the peak matters more than time.
    """

    def __init__(self, *, tight: bool) -> None:
        self._times = (
            2.0 if tight else 2.8
        )  # the largest tensor's bytes: with a loss beside them, about backward's peak
        self._before: list[int] = []  # bytes of the tensors of the step before
        self._now: list[int] = []
        self._first = 0  # index from which on tensors are kept
        self._is_alike = False  # so far, to the step before
        self.has_kept = False  # any tensor of this step

    def begin(self) -> None:
        """Begin a step."""
        self._before, self._now = self._now, []
        left = self._times * max(self._before, default=0)
        self._first = len(self._before)
        while self._first and left >= self._before[self._first - 1]:
            self._first -= 1
            left -= self._before[self._first]
        self._is_alike = True
        self.has_kept = False

    def forget(self) -> None:
        """Take note that the step did not come to its end."""
        self._now = []

    def takes(self, nbytes: int) -> bool:
        """Return whether the next tensor is kept."""
        place = len(self._now)
        self._now.append(nbytes)
        self._is_alike = self._is_alike and place < len(self._before) and self._before[place] == nbytes
        is_kept = self._is_alike and place >= self._first
        self.has_kept = self.has_kept or is_kept
        return is_kept
