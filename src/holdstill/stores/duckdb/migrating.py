"""A collection of an earlier format, brought to the present one in a single transaction.

Format 1 had one generation, no tags, and numbered passages through. It did not keep texts as they were given: what a
generation is built from is then its passages, which may be pieces of longer ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdstill.analysis import ANALYSERS, analyser
from holdstill.errors import NotWritable
from holdstill.stores.base import FORMAT
from holdstill.stores.duckdb.connection import Connection

_CHANGED = ("commits", "generations", "contents", "passages", "segments")
_NEW = ("identity", "tags", "purges")

#: Tables of format 1 are called `old_` and their name.
_FILL = (
    (
        "INSERT INTO generations SELECT g.*, NULL, NULL, TRUE, "
        "(SELECT coalesce(max(content) + 1, 0) FROM old_contents) FROM old_generations g"
    ),
    (
        "INSERT INTO passages SELECT c.generation, p.content, p.ordinal, p.headings, p.first_page, p.last_page, "
        "p.text, p.source, p.vector FROM old_passages p JOIN old_contents c USING (content) ORDER BY p.passage"
    ),
    (
        "INSERT INTO contents SELECT c.content, any_value(c.title), any_value(c.digest), CAST(to_json(list(json_array("
        "p.headings, CASE WHEN p.first_page IS NULL THEN NULL ELSE [p.first_page, p.last_page] END, p.text, "
        "p.vector IS NOT NULL AND p.source = ''::BLOB) ORDER BY p.ordinal)) AS VARCHAR), any_value(c.added) "
        "FROM old_contents c JOIN old_passages p USING (content) GROUP BY c.content ORDER BY c.content"
    ),
    (
        "INSERT INTO commits SELECT c.commit, c.generation, c.kind, c.committed, "
        "(SELECT count(*) FROM documents d WHERE d.added = c.commit AND NOT EXISTS "
        "(SELECT 1 FROM documents o WHERE o.id = d.id AND o.removed = c.commit)), "
        "(SELECT count(*) FROM documents d JOIN documents o ON o.id = d.id "
        "WHERE d.added = c.commit AND o.removed = c.commit), "
        "(SELECT count(*) FROM documents d WHERE d.removed = c.commit AND NOT EXISTS "
        "(SELECT 1 FROM documents n WHERE n.id = d.id AND n.added = c.commit)), FALSE "
        "FROM old_commits c ORDER BY c.commit"
    ),
    # No file has this name: the index is made again when the collection is opened.
    (
        "INSERT INTO segments SELECT generation, 'of format 1', min(content), max(content), count(*), 0, 0, '' "
        "FROM passages GROUP BY generation"
    ),
)


def migrate(connection: Connection, path: Path, tables: str, *, writable: bool) -> None:
    """Bring a collection of format 1 to this one; `tables` are the statements that make all tables of it.

    Raises:
        holdstill.NotWritable: it cannot be written.
    """
    if not writable:
        raise NotWritable(
            f"{path} has format 1, and has to be written once to be read by this version",
            field="path",
            expected=f"format {FORMAT}, or a collection that can be written",
            hint="Open it once with the right to write; it is brought to the present format then",
        )
    made = {statement.split()[2]: statement for statement in tables.split(";") if statement.strip()}
    with connection.transaction() as cursor:
        for table in _CHANGED:
            cursor.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        for table in (*_CHANGED, *_NEW):
            cursor.execute(made[table])
        for statement in _FILL:
            cursor.execute(statement)
        for table in _CHANGED:
            cursor.execute(f"DROP TABLE old_{table}")
        for name in ANALYSERS:  # which one of that name read the texts was not noted
            cursor.execute("UPDATE generations SET analysis = ? WHERE analyser = ?", [analyser(name).identity, name])
        cursor.execute("INSERT INTO identity VALUES (?)", [os.urandom(32)])
        cursor.execute("UPDATE meta SET value = ? WHERE key = 'format'", [FORMAT])
        cursor.execute("DELETE FROM meta WHERE key <> 'format'")
