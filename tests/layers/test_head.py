"""Which specs count as those of a detection head."""

import sections

from darkpy.layers._head import HeadSpec


def test_a_head_is_told_from_other_layers_by_its_data_rule() -> None:
    head = sections.spec("yolo", {"classes": 2, "num": 1, "anchors": "10,14"})
    assert isinstance(head, HeadSpec)
    assert head.data_rule.classes == 2
    assert not isinstance(sections.spec("dropout", {"probability": 0.3}), HeadSpec)
    assert not isinstance(None, HeadSpec)
