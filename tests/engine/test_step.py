import torch

from darkpy.engine.step import _to_device


def test_bytes_are_divided_by_255_and_blended_pictures_come_as_they_are() -> None:
    levels = torch.arange(24, dtype=torch.uint8).reshape(1, 2, 3, 4) * 10
    images = _to_device(levels, torch.device("cpu"))
    torch.testing.assert_close(images, levels.float() / 255, rtol=0, atol=0)
    blended = levels.float() / 510
    untouched = blended.clone()
    torch.testing.assert_close(_to_device(blended, torch.device("cpu")), untouched, rtol=0, atol=0)
    assert torch.equal(blended, untouched)
