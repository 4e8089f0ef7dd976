import pytest
import torch

from darkpy.engine._state import check_tensors, restore_tensors


def test_tensors_are_copied_by_name() -> None:
    target = torch.zeros(2)
    restore_tensors({"a": target}, {"a": torch.ones(2), "b": torch.ones(1)})
    assert target.tolist() == [1, 1]


def test_what_is_missing_or_misshapen_is_named() -> None:
    with pytest.raises(ValueError, match=r"the state has no a"):
        check_tensors({"a": torch.zeros(2)}, {})
    with pytest.raises(ValueError, match=r"a of the state has shape \(3,\), not \(2,\)"):
        check_tensors({"a": torch.zeros(2)}, {"a": torch.zeros(3)})
