"""What is odd in a text file's bytes (darkpy/checks/data_text.py)."""

import pytest

from darkpy.checks.data_text import ODDITIES, oddities


@pytest.mark.parametrize(
    ("raw", "codes"),
    [
        (b"", ()),
        (b"a\nb\n", ()),
        ("Ä\n".encode(), ()),
        (b"\xef\xbb\xbfa\r\n", ("byte-order-mark", "crlf")),
        ("a\n".encode("utf-16"), ("utf-16",)),
        ("a\n".encode("utf-16-be"), ("utf-16",)),
        (b"a\rb\r", ("carriage-returns",)),
        (b"a\r\nb\r", ("carriage-returns", "crlf")),
        (b"\xe4\n", ("not-utf-8",)),
        (b"abc\0\r\n", ("binary",)),
    ],
)
def test_oddities(raw: bytes, codes: tuple[str, ...]) -> None:
    assert oddities(raw) == codes
    assert set(codes) <= ODDITIES.keys()
