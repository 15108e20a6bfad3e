"""The form of an export: what its files are called, what stands in them, and back.

A plain tar of

    manifest.json     what was exported, how it was made, and the length and SHA-256 of every other file
    documents.jsonl   a document a line: id, title, fields, what else came with it, and its passages as given
    passages.jsonl    a passage a line, as ranked: those of the first document first, in order
    vectors.bin       the grid vectors, int16, little endian, in the order of passages; absent without vectors

JSON is UTF-8, with keys in order and no blanks, so that equal values are equal bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from holdstill._version import __version__
from holdstill.analysis import analyser
from holdstill.canonical import canonical_json
from holdstill.document import Document, Passage
from holdstill.errors import InvalidInput, MalformedInput, NewerFormat
from holdstill.policy import Policy
from holdstill.ranking.grid import MAX_DIMENSIONS
from holdstill.result import json_value
from holdstill.schema import Field, Schema
from holdstill.stores.base import Generation, GivenPassage, PreparedDocument, PreparedPassage
from holdstill.text import storable

FORMAT = 1  #: of what this version writes; every earlier one is read

MANIFEST, DOCUMENTS, PASSAGES, VECTORS = "manifest.json", "documents.jsonl", "passages.jsonl", "vectors.bin"

_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Member(NamedTuple):
    """A file of an export: its length in bytes, and its SHA-256, hexadecimal."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export says of itself.

    Attributes:
        commit: the commit that was exported, in the collection it comes from.
        generation: the generation that it was exported from, with its number there.
        schema: the fields.
        policy: the policy in force, and its version there; None without one.
        documents: how many there are.
        passages: how many they have.
        members: the other files, by name.
    """

    commit: int
    generation: Generation
    schema: Schema
    policy: tuple[str, int] | None
    documents: int
    passages: int
    members: Mapping[str, Member]

    def encode(self) -> bytes:
        """The manifest as it stands in the export, with a checksum of itself.

        Where the export comes from is under `exported` alone.
        """
        about = dataclasses.asdict(self.generation)
        exported = {
            "commit": self.commit,
            "generation": about.pop("number"),
            "holdstill": __version__,
            "policy": None if self.policy is None else self.policy[1],
        }
        manifest = {
            "format": FORMAT,
            "exported": exported,
            "generation": about | {"analysis": analyser(self.generation.analyser).identity},
            "schema": [dataclasses.asdict(field) for field in self.schema],
            "policy": None if self.policy is None else self.policy[0],
            "documents": self.documents,
            "passages": self.passages,
            "members": {name: member._asdict() for name, member in self.members.items()},
        }
        return _line(manifest | {"sha256": _checksum(manifest)})

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """The manifest that these bytes are.

        Raises:
            holdstill.NewerFormat: a newer holdstill wrote it.
            holdstill.InvalidInput: its words are not read as this version reads them.
            holdstill.MalformedInput: they are none.
        """
        found = _object(MANIFEST, data)
        _require_readable(found)
        try:
            exported, about, policy = found["exported"], found["generation"], found["policy"]
            analysis = about.pop("analysis")
            manifest = cls(
                commit=_count(exported["commit"]),
                generation=_generation(Generation(number=_count(exported["generation"]), **about)),
                schema=Schema(tuple(Field(**field) for field in found["schema"])),
                policy=None if policy is None else (policy, _count(exported["policy"])),
                documents=_count(found["documents"]),
                passages=_count(found["passages"]),
                members={name: Member(**member) for name, member in found["members"].items()},
            )
            if policy is not None:
                Policy.parse(policy, manifest.schema)
            manifest._check()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            _refuse(MANIFEST, error)
        _require_same_words(manifest.generation, analysis, exported.get("holdstill"))
        return manifest

    def _check(self) -> None:
        wanted = (DOCUMENTS, PASSAGES, VECTORS) if self.generation.dense else (DOCUMENTS, PASSAGES)
        if sorted(self.members) != sorted(wanted):
            raise ValueError(f"the members are {', '.join(wanted)}")
        for member in self.members.values():
            _count(member.bytes)
        if self.generation.dense:
            length = 2 * self.passages * (self.generation.dimensions or 0)
            if self.members[VECTORS].bytes != length or (self.passages and not length):
                raise ValueError(f"{VECTORS} has to have {length} bytes")


def _require_readable(manifest: Mapping[str, Any]) -> None:
    found = manifest.get("format")
    if type(found) is int and found > FORMAT:
        raise NewerFormat(
            f"the export has format {found}, written by a newer holdstill",
            field="format",
            expected=f"format {FORMAT} or earlier",
            got=found,
            hint="Upgrade holdstill; nothing was made",
        )
    if found != FORMAT:
        raise MalformedInput(f"{MANIFEST} is that of no export", field="format", expected=str(FORMAT), got=found)
    if manifest.get("sha256") != _checksum({key: value for key, value in manifest.items() if key != "sha256"}):
        raise MalformedInput(f"{MANIFEST} is damaged: its checksum is not its own", hint="Copy the export again")


def _checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(_line(manifest)).hexdigest()


def _require_same_words(generation: Generation, analysis: object, version: object) -> None:
    ours = analyser(generation.analyser).identity
    if analysis != ours:
        raise InvalidInput(
            "texts would give other words here than where they were exported, and so other answers",
            field="analyser",
            expected=ours,
            got=analysis,
            hint=f"It was exported by holdstill {version}: import it with that",
        )


def _generation(made: Generation) -> Generation:
    """The generation, if it can be one."""
    analyser(made.analyser)
    texts = (made.embedder, made.profile, made.made_with)
    optional = (made.model, made.settings)
    dimensions = made.dimensions
    if (
        not all(isinstance(text, str) for text in texts)
        or not all(text is None or isinstance(text, str) for text in optional)
        or not isinstance(made.brought, bool)
        or (dimensions is not None and not 1 <= _count(dimensions) <= MAX_DIMENSIONS)
    ):
        raise ValueError("the generation cannot be read")
    return made


def encode_document(document: PreparedDocument, schema: Schema) -> bytes:
    """A document's line; dates and times as ISO 8601 text, all other values as JSON has them."""
    return _line(
        {
            "id": document.id,
            "title": document.title,
            "content": document.content.hex(),
            "fields": {field.name: json_value(value) for field, value in zip(schema, document.values, strict=True)},
            "metadata": json.loads(document.metadata),
            "given": [
                {
                    "headings": part.headings,
                    "pages": part.pages,
                    "text": part.text,
                    "brought": part.vector is not None,
                }
                for part in document.given
            ],
        }
    )


def encode_passage(id_: str, ordinal: int, passage: PreparedPassage) -> bytes:
    """A passage's line; `source` is the SHA-256 of what was embedded, empty where the vector was brought."""
    return _line(
        {
            "document": id_,
            "ordinal": ordinal,
            "headings": passage.headings,
            "pages": passage.pages,
            "text": passage.text,
            "source": passage.source.hex(),
        }
    )


def decode_document(line: bytes, passages: tuple[PreparedPassage, ...], schema: Schema) -> PreparedDocument:
    """The document of a line, with its passages.

    Raises:
        holdstill.MalformedInput: it is no such line.
    """
    found = _object(DOCUMENTS, line)
    try:
        document = Document(found["id"], title=found["title"], passages=[Passage("stands for those below")])
        fields = found["fields"]
        if sorted(fields) != sorted(schema.types()) or not isinstance(found["metadata"], dict):
            raise ValueError("the fields are not those of the schema")
        brought = (part.vector for part in passages if not part.source)
        return PreparedDocument(
            id=document.id,
            title=document.title,
            content=bytes.fromhex(found["content"]),
            values=tuple(field.accept(fields[field.name]) for field in schema),
            metadata=canonical_json(found["metadata"]),
            passages=passages,
            given=tuple(
                GivenPassage(*_part(part), next(brought, None) if part["brought"] else None) for part in found["given"]
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        _refuse(DOCUMENTS, error)


def decode_passage(line: bytes) -> tuple[str, int, PreparedPassage]:
    """The document's id, the ordinal and the passage of a line, without its vector.

    Raises:
        holdstill.MalformedInput: it is no such line.
    """
    found = _object(PASSAGES, line)
    try:
        passage = PreparedPassage(*_part(found), bytes.fromhex(found["source"]), None)
        return found["document"], found["ordinal"], passage
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        _refuse(PASSAGES, error)


def _part(found: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[int, int] | None, str]:
    """Headings, pages and text. The text stands as it is: a piece of a text may begin as no text may."""
    checked = Passage(found["text"], headings=found["headings"], pages=found["pages"])
    if not storable(found["text"]):
        raise ValueError("the text cannot be stored")
    return checked.headings, checked.pages, found["text"]


def _object(member: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        _refuse(member, error)
    if not isinstance(found, dict):
        _refuse(member, ValueError("it is no JSON object"))
    return found


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{value!r} is no number of something")


def _line(value: Mapping[str, Any]) -> bytes:
    return _JSON.encode(value).encode() + b"\n"


def _refuse(member: str, error: Exception) -> NoReturn:
    reason = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
    raise MalformedInput(f"{member} cannot be read: {reason}", expected="what an export of holdstill holds") from error
