"""Host memory in tiny blocks and without windows, so that a tiny network fills it and reads it back."""

import pytest

from darkpy.memory.arena import Arena
from darkpy.memory.tiers import TieredMemory


def use_small_memory(patch: pytest.MonkeyPatch, *, block_bytes: int = 2**14) -> None:
    """Let what waits to be written, or is fetched ahead, be no tensor more than must be.

    With the windows as they are, all that a tiny network keeps is still on the device when backward asks for it.

    Args:
        patch: Undoes it.
        block_bytes: Size of a block.
    """
    patch.setitem(TieredMemory.__init__.__kwdefaults__, "window", 0)
    patch.setitem(Arena.__init__.__kwdefaults__, "block_bytes", block_bytes)
