"""No text of a user becomes SQL: whatever is stored, asked or named, the statements are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import holdstill as hs

HOSTILE = (
    "'; DROP TABLE documents; --",
    '"; DELETE FROM documents; --',
    "x' OR '1'='1",
    "?", "$1", ":name", "{0}", "%s", "\\'", "/* */", "\n--", "\x00;", "'||(SELECT 1)||'",
    "field_0", "d.id", "unnest(?)", "NULL", "💥'\"`", "日本'",
)  # fmt: skip


class Spy:
    """A connection, or a cursor of it, that notes every statement."""

    def __init__(self, connection: Any, noted: list[str]) -> None:
        self._connection = connection
        self._noted = noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> Spy:
        self._connection.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._connection.__exit__(*failure)

    def cursor(self) -> Spy:
        return Spy(self._connection.cursor(), self._noted)

    def execute(self, statement: str, *values: Any) -> Any:
        self._noted.append(statement)
        return self._connection.execute(statement, *values)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    statements: list[str] = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *given, **named: Spy(connect(*given, **named), statements))
    for name in ("sql", "query", "execute", "executemany"):  # the module's own connection is nobody's business
        monkeypatch.delattr(duckdb, name)
    return statements


def use_everything(path: Path, text: str, names: tuple[str, str]) -> int:
    """Every call that takes text, with this text in every place where it may stand; gives how many hits there were."""
    (one, many), stored_text = names, text.replace("\x00", "\ufffd")
    id_ = f"id {stored_text}"
    answers: list[Any] = []
    with hs.create(path, schema={one: "str", many: "str[]"}, embedder="none") as collection:
        document = hs.Document(
            id_,
            passages=[hs.Passage(f"word {text}", headings=[text])],
            title=text,
            fields={one: text, many: [text, "other"], f"key {text}": {text: [text]}},
        )
        twins = [hs.Document(twin, "word", fields={one: "other"}) for twin in ("castor", "pollux")]
        assert collection.add([document, *twins]).added == 3
        stored = collection.get(id_)
        assert (stored.title, stored.fields[one], stored.fields[many]) == (
            stored_text,
            stored_text,
            (stored_text, "other"),
        )
        assert stored.metadata == {f"key {stored_text}": {stored_text: [stored_text]}}
        answers += [
            collection.search(f"word {text}"),
            collection.search("word", where=hs.f[one] == text),
            collection.search("word", where=hs.f[one].isin([text, "z"]) | hs.f[many].has_all([text])),
            collection.search("word", where=f"{one} = :x and has({many}, :x)", params={"x": text}),
            collection.search("word", where=f"{one} >= '{text.replace(chr(39), chr(39) * 2)}'"),
            collection.search(where=~(hs.f[one] == text), order_by=f"{one} desc"),
            collection.search(must=[f"word {text}"], must_not=[f"absent {text}"]),
        ]
        collection.update(id_, fields={one: f"new {text}"})
        collection.update(where=hs.f[one] == f"new {text}", fields={many: [text]})
        collection.add_field("added", "str")
        collection.update(id_, fields={"added": text})
        value = text.replace("'", "''")
        collection.set_policy(f"added = principal.who or {one} = '{value}'")
        someone = {"id": "ana", "attributes": {"who": stored_text}}
        answers.append(collection.search("word", principal=someone))
        assert collection.count(f"added = '{value}'", principal=someone) == len(answers[-1])
        collection.policy(operator=True)
        collection.delete([id_, text, "absent"], operator=True)
        collection.delete(where=hs.f[one].isin([text, "other"]), operator=True)
        assert collection.count(operator=True) == 0
    return sum(len(answer) for answer in answers)


def test_every_statement_is_the_same_whatever_the_text(tmp_path: Path, noted: list[str]) -> None:
    assert use_everything(tmp_path / "usual.hs", "usual", ("one", "many")) >= 10
    expected = set(noted)
    assert len(expected) > 30
    for number, text in enumerate(HOSTILE):
        noted.clear()
        assert use_everything(tmp_path / f"{number}.hs", text, ("select", "by")) >= 10
        assert set(noted) == expected, text
