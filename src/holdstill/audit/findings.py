"""What blame finds: the two answers that are compared, the layers between them, and the whole finding."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from holdstill.audit.conditions import Conditions, Page
from holdstill.stores.base import Generation

LayerName = Literal["corpus", "policy", "analyser", "model", "index", "fusion", "engine", "purge"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer between an answer and what it is made from.

    Attributes:
        layer: its name.
        changed: whether it is another now than then.
        moved: whether it moved the answer when it alone was brought forward; None where that cannot be tried.
        then, now: what it was, and is.
        evidence: what was found, a line each.
    """

    layer: LayerName
    changed: bool
    moved: bool | None
    then: str
    now: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """Why an answer is different.

    Attributes:
        search_id: the search of then.
        other: the search of now, where two were compared.
        identical: whether the two answers are one.
        entered: hits of now that the answer of then had not.
        left: hits of then that the answer of now has not.
        layers: every layer, in the order in which a search goes through them.
        sentence: what moved the answer, in one sentence.
    """

    search_id: str
    other: str | None
    identical: bool
    entered: tuple[str, ...]
    left: tuple[str, ...]
    layers: tuple[Layer, ...]
    sentence: str

    @property
    def moved(self) -> tuple[LayerName, ...]:
        """The layers that moved the answer."""
        return tuple(each.layer for each in self.layers if each.moved)

    def as_dict(self) -> dict[str, Any]:
        """The finding as the `--json` output shows it."""
        return asdict(self) | {"moved": list(self.moved)}


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two answers.

    Attributes:
        conditions: what its search depends on.
        page: its hits.
        engine: the version of holdstill that made it.
        policy: the version of the policy in force.
        generation: the generation of its snapshot.
        permission_known: False where the permission is another one now, and it is not known what it says.
    """

    conditions: Conditions
    page: Page
    engine: str
    policy: int | None
    generation: Generation
    permission_known: bool = True


def document_of(hit: str, known: dict[str, str]) -> str:
    """The document of a hit, which is the hit itself where documents were ranked."""
    return hit if hit in known else hit.rpartition("#")[0]
