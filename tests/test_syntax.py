"""The opt-in web syntax."""

from __future__ import annotations

import pytest

from holdstill.analysis import analyser
from holdstill.syntax import Understood
from holdstill.syntax import read_web as read


def read_web(text: str) -> Understood:
    return read(text, lambda part: bool(analyser("simple").terms(part)))


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
        ("code -🍕", "code", (), ("🍕",)),
        ('"🍕" code', "🍕 code", ("🍕",), ()),
        ('-"java", -"python".', None, (), ("java", "python")),
        ("\u3164 -java", None, (), ("java",)),
    ],
)
def test_what_is_read(text: str, rest: str, must: tuple[str, ...], must_not: tuple[str, ...]) -> None:
    found = read_web(text)
    assert (found.text and " ".join(found.text.split()), found.must, found.must_not) == (rest, must, must_not)


@pytest.mark.parametrize("text", ["a -> b", "a -! b", "-)", '"!!!" a', '-"!"', '""', "--"])
def test_signs_alone_require_nothing(text: str) -> None:
    assert read_web(text) == Understood(text, (), ())


def test_requirements_alone_leave_no_text() -> None:
    assert read_web("-java") == Understood(None, (), ("java",))
