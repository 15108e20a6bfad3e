"""Rows that are parts of one document, made one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from holdstill.document import Document, Passage
from holdstill.errors import InvalidDocument
from holdstill.ingest.records import same
from holdstill.ingest.rows import Row
from holdstill.refused import Refused


def grouped(rows: Iterable[Row | Refused]) -> Iterator[Row | Refused]:
    """The rows with those of one id made one document, wherever they stand.

    Passages keep the order of the rows. The title is the first that is given; a row with another title keeps it as the
    heading of its passages, before their own. Rows must agree on every field that both give; one that does not is
    refused. Documents come after all rows are read, in the order of their first rows.
    """
    groups: dict[str, _Group] = {}
    for row in rows:
        if isinstance(row, Refused):
            yield row
            continue
        group = groups.get(row.document.id)
        if group is None:
            group = groups[row.document.id] = _Group(row)
        try:
            group.add(row.document)
        except InvalidDocument as error:
            yield Refused.because(error, row.number, row.source)
    for group in groups.values():
        yield group.row()


@dataclass(slots=True)
class _Group:
    first: Row
    title: str = ""
    passages: list[Passage] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)

    def add(self, part: Document) -> None:
        for name, value in part.fields.items():
            known = self.fields.get(name)
            if known is not None and value is not None and not same(known, value):
                raise InvalidDocument(
                    f"document {part.id!r} has another {name!r} in an earlier row",
                    field=name,
                    expected=f"{known!r}, as in the earlier row",
                    got=value,
                    hint="What differs from passage to passage is no field of the document",
                )
        self.fields |= {name: value for name, value in part.fields.items() if self.fields.get(name) is None}
        self.title = self.title or part.title
        above = () if part.title in ("", self.title) else (part.title,)
        self.passages += [
            Passage(passage.text, passage.vector, above + passage.headings, passage.pages) for passage in part.passages
        ]

    def row(self) -> Row:
        document = Document(self.first.document.id, passages=self.passages, title=self.title, fields=self.fields)
        return Row(self.first.source, self.first.number, document)
