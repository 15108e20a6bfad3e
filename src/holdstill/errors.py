"""Every error holdstill raises, in one tree.

Each is also a subclass of the builtin that a caller would already catch.

    HoldstillError
      InvalidInput (ValueError)                 what the caller passed is wrong
        InvalidQuery                              k, offset, arms, weights, settings
          EmptyQuery                                no words left after analysis
          FusedScoreThreshold                       a threshold on a score that is only an order
        InvalidSchema                             a field's name or type
        InvalidPredicate                          a filter that cannot mean anything
          PredicateSyntax                           the text cannot be parsed
          UnknownField                              a name that the schema lacks
          TypeMismatch                              a value of another type than the field's
        InvalidDocument                           an empty document, a bad field value, a lone id
          DuplicateId                               one id twice in a batch
        InvalidVector                             wrong length, zero, NaN, infinite
        InvalidPrincipal                          not {"id", "groups", "attributes"}
        MalformedInput                            a file that cannot be read as what it claims to be
        AnalyserMismatch                          an index whose terms other rules made
        ModelMismatch                             a vector or embedder of another model than the rows'
        EmbedderRequired                          text asked of vectors that nothing here can embed
      BatchRefused (ValueError)                 strict: some rows were bad, so nothing was written
      NotFound (LookupError)                    no such document, or none that this principal may see
      SnapshotNotFound (LookupError)            no such commit, tag or time in the history
        SnapshotPruned                            there was, and it was pruned
      GenerationNotFound (LookupError)          no generation of that number
      CollectionNotFound (LookupError)          nothing at that path
      CollectionExists (ValueError)             something is already at that path
      CollectionClosed (ValueError)             the handle was closed
      NotACollection (ValueError)               a directory that holds something else
      NewerFormat (ValueError)                  written by a newer holdstill
      CorruptCollection (ValueError)            the database itself is damaged
      AccessDenied (PermissionError)
        PrincipalRequired                         a policy is in force and nobody asked
        OperatorRequired                          only the operator may do this here
        NotWritable                               the file system refuses the write
      CollectionBusy (TimeoutError)             another process holds the collection
      InvariantViolated (RuntimeError)          a promise was about to be broken; nothing was returned
      EmbedderFailed (RuntimeError)             the model cannot be loaded or does not hold still
"""

from __future__ import annotations

from typing import Any


class HoldstillError(Exception):
    """The root of the tree.

    Args:
        message: what happened, in a sentence.
        field: the argument, field or file at fault, if one is.
        expected: what would have been accepted.
        got: the value that was given; its type is shown with it.
        hint: what to do.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        expected: str | None = None,
        got: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.expected = expected
        self.got = None if got is None else describe(got)
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message]
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.got is not None:
            parts.append(f"got {self.got}")
        text = "; ".join(parts)
        return f"{text}. {self.hint}" if self.hint else text

    def as_dict(self) -> dict[str, Any]:
        """The error as the `--json` output shows it."""
        return {
            "type": type(self).__name__,
            "message": self.message,
            "field": self.field,
            "expected": self.expected,
            "got": self.got,
            "hint": self.hint,
        }


def describe(value: object) -> str:
    """A value with its type, shortened: `'5' (str)`."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be shown, such as an int of 5,000 digits
        text = "<not shown>"
    if len(text) > 80:
        text = text[:77] + "..."
    return f"{text} ({type(value).__name__})"


class InvalidInput(HoldstillError, ValueError):
    """What the caller passed is wrong; nothing was changed."""


class InvalidQuery(InvalidInput):
    """A search argument is out of range or contradicts another."""


class EmptyQuery(InvalidQuery):
    """The question has no terms after analysis, so there is nothing to look for."""


class FusedScoreThreshold(InvalidQuery):
    """A threshold was asked on a fused score, which orders results but measures nothing."""


class InvalidSchema(InvalidInput):
    """A field has a bad name, an unknown type, or stands twice."""


class InvalidPredicate(InvalidInput):
    """A filter that cannot mean anything."""


class PredicateSyntax(InvalidPredicate):
    """The text of a filter cannot be parsed, or uses something outside the language."""


class UnknownField(InvalidPredicate):
    """A filter names a field that the schema lacks."""


class TypeMismatch(InvalidPredicate):
    """A filter compares a field with a value of another type, or uses an operator the type lacks."""


class InvalidDocument(InvalidInput):
    """A document is empty, or one of its values does not fit the schema."""


class DuplicateId(InvalidDocument):
    """An id stands twice in one batch; the first stays."""


class InvalidVector(InvalidInput):
    """A vector is of the wrong length, zero, NaN or infinite."""


class InvalidPrincipal(InvalidInput):
    """A principal is not `{"id", "groups", "attributes"}`, or an attribute has the wrong type."""


class MalformedInput(InvalidInput):
    """A file cannot be read as what it claims to be."""


class AnalyserMismatch(InvalidInput):
    """The index was built by an analyser of other rules than this version's."""


class ModelMismatch(InvalidInput):
    """A vector or an embedder belongs to another model than the collection's rows."""


class EmbedderRequired(InvalidInput):
    """Text was asked of a collection whose vectors nothing here can produce."""


class BatchRefused(HoldstillError, ValueError):
    """Strict mode: some rows were bad, so nothing was written. `refused` lists them."""

    def __init__(self, message: str, *, refused: tuple[Any, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.refused = refused

    def as_dict(self) -> dict[str, Any]:
        """The error as the `--json` output shows it, with the refused rows."""
        return super().as_dict() | {"refused": [row.as_dict() for row in self.refused]}


class NotFound(HoldstillError, LookupError):
    """No such document, or none that this principal may see; the two are told apart by nothing."""


class SnapshotNotFound(HoldstillError, LookupError):
    """The history has no such commit, tag or time."""


class SnapshotPruned(SnapshotNotFound):
    """The commit was pruned: what was visible at it is not kept."""


class GenerationNotFound(HoldstillError, LookupError):
    """There is no generation of that number."""


class CollectionNotFound(HoldstillError, LookupError):
    """There is nothing at that path."""


class CollectionExists(HoldstillError, ValueError):
    """Something is already at that path."""


class CollectionClosed(HoldstillError, ValueError):
    """The handle was closed; open the collection again."""


class NotACollection(HoldstillError, ValueError):
    """The path holds something that is not a collection."""


class NewerFormat(HoldstillError, ValueError):
    """The collection was written by a newer holdstill than this one."""


class CorruptCollection(HoldstillError, ValueError):
    """The database of the collection is damaged."""


class AccessDenied(HoldstillError, PermissionError):
    """Not permitted."""


class PrincipalRequired(AccessDenied):
    """The collection has a policy, and the call named neither a principal nor the operator."""


class OperatorRequired(AccessDenied):
    """Only the operator may do this on a collection with a policy."""


class NotWritable(AccessDenied):
    """The file system does not allow the write."""


class CollectionBusy(HoldstillError, TimeoutError):
    """Another process holds the collection, and it did not let go in time."""


class InvariantViolated(HoldstillError, RuntimeError):
    """A hit failed the last check against the predicates. This is a bug; nothing was returned."""


class EmbedderFailed(HoldstillError, RuntimeError):
    """The embedding model cannot be loaded, or its vectors do not hold still."""
