"""The opt-in web syntax."""

from __future__ import annotations

import pytest

from holdstill.syntax import Understood, read_web


@pytest.mark.parametrize(
    ("text", "rest", "must", "must_not"),
    [
        ("plain words", "plain words", (), ()),
        ('"null pointer" crash', "null pointer crash", ("null pointer",), ()),
        ('"null pointer", crash', "null pointer, crash", ("null pointer",), ()),
        ('("null pointer")', "(null pointer)", ("null pointer",), ()),
        ("“null pointer”!", "null pointer!", ("null pointer",), ()),
        ('crash -"null pointer"', "crash", (), ("null pointer",)),
        ("crash -java", "crash", (), ("java",)),
        ("state-of-the-art", "state-of-the-art", (), ()),
        ('odd "quote', 'odd "quote', (), ()),
        ("a - b", "a - b", (), ()),
    ],
)
def test_what_is_read(text: str, rest: str, must: tuple[str, ...], must_not: tuple[str, ...]) -> None:
    read = read_web(text)
    assert (read.text and " ".join(read.text.split()), read.must, read.must_not) == (rest, must, must_not)


@pytest.mark.parametrize("text", ["a -> b", "a -! b", "-)", '"!!!" a', '-"!"', '""', "--"])
def test_signs_alone_require_nothing(text: str) -> None:
    assert read_web(text) == Understood(text, (), ())


def test_requirements_alone_leave_no_text() -> None:
    assert read_web("-java") == Understood(None, (), ("java",))
