from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.conversion.picture_files import PictureNames, is_picture, pictures_below
from darkpy.data.index import label_path


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "a b.png", "a.b.bmp", "a.webp", "JPEGImages.jpg"])
def test_pictures(name: str) -> None:
    assert is_picture(Path("d") / name)


@pytest.mark.parametrize("name", ["a.txt", "a.xml", "a", ".jpg", "._a.jpg", "a.jpg.part", "Thumbs.db"])
def test_no_pictures(name: str) -> None:
    assert not is_picture(Path("d") / name)


def test_pictures_below_are_sorted_and_not_hidden(tmp_path: Path) -> None:
    for name in ("b/2.jpg", "a/1.png", ".cache/3.jpg", "b/.4.jpg", "5.txt", "0.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.jpg").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in pictures_below(tmp_path)]
    assert found == ["0.jpg", "a/1.png", "b/2.jpg"]


@pytest.mark.parametrize(
    ("wishes", "names"),
    [
        (["a.jpg", "a.jpg"], ["a.jpg", "a_2.jpg"]),
        (["a.jpg", "A.png", "a_2.bmp"], ["a.jpg", "A_2.png", "a_2_2.bmp"]),
        (["a.Jpg", "b.JPG"], ["a.jpg", "b.JPG"]),
        (["a\n b .jpg", " c.jpg"], ["a_ b.jpg", "c.jpg"]),
        (["noextension", ".jpg"], ["noextension", ".jpg"]),
    ],
)
def test_names_of_their_own(wishes: list[str], names: list[str]) -> None:
    chooser = PictureNames()
    assert [chooser.choose(wish) for wish in wishes] == names


@given(
    st.lists(
        st.builds(lambda stem, kind: stem + kind, st.text("aA_2\n .", min_size=1, max_size=4),
                  st.sampled_from([".jpg", ".JPG", ".Png"])),
        max_size=12,
    )
)  # fmt: skip
def test_no_two_pictures_share_a_label_file(wishes: list[str]) -> None:
    chooser = PictureNames()
    labels = [label_path(f"d/{chooser.choose(wish)}").casefold() for wish in wishes]
    assert len(set(labels)) == len(wishes)
    assert all(label == label.strip() and "\n" not in label for label in labels)
