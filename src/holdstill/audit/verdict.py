"""A finding in one sentence, for a person who has to do something about it."""

from __future__ import annotations

from collections.abc import Sequence

from holdstill.audit.findings import Blame, Layer, LayerName, Side, document_of
from holdstill.reports import Diff

_SUBJECT: dict[LayerName, str] = {
    "corpus": "The corpus",
    "policy": "The permission",
    "analyser": "The analyser",
    "model": "The embedding model",
    "index": "The splitting into passages",
    "fusion": "The settings of fusion",
    "engine": "The engine",
    "purge": "A purge",
}


def sentence(found: Blame, then: Side, now: Side, differs: Diff) -> str:
    """What moved the answer."""
    changed = [each for each in found.layers if each.changed]
    if found.identical:
        if not changed:
            return "Nothing moved: the answer is identical, and so is everything that it is made from."
        return f"The answer is identical, although {_listed([_lower(each) for each in changed])} changed."
    moved = [each for each in found.layers if each.moved]
    untried = [each for each in changed if each.moved is None]
    if not moved and not untried:
        names = _listed([_lower(each) for each in changed])
        return f"No layer moves the answer alone; together they do: {names}." if changed else (
            "The answer differs, and nothing that it is made from does: please report this."
        )  # fmt: skip
    parts = [_clause(each, found, then, now, differs) for each in moved]
    parts += [f"{_SUBJECT[each.layer]} changed too, and could not be tried alone" for each in untried]
    return ". ".join(parts) + "."


def _clause(layer: Layer, found: Blame, then: Side, now: Side, differs: Diff) -> str:
    subject = _SUBJECT[layer.layer]
    # Were another one changed too, putting this one back need not give the answer of then.
    alone = sum(each.changed for each in found.layers) == 1
    match layer.layer:
        case "corpus":
            ends = "; with the old corpus the answer is identical" if alone else ""
            return f"{subject} moved: {_hits(found, then, now, differs)}{ends}"
        case "policy":
            ends = "; with the old one the answer is identical" if alone else ""
            return f"{subject} moved: {'; '.join(layer.evidence)}{ends}"
        case "purge":
            return f"{subject} took documents away that were visible then"
        case "engine":
            versions = "is the same version" if layer.then == layer.now else f"went from {layer.then} to {layer.now}"
            return f"{subject} moved: it {versions}, and does not give the answer of then again"
        case _:
            ends = "; with the old one the answer is identical" if alone else ""
            return f"{subject} moved, from {layer.then} to {layer.now}{ends}"


def _hits(found: Blame, then: Side, now: Side, differs: Diff) -> str:
    """What the change of documents did to the hits."""
    changed = {each.id for each in differs.changed}
    known = dict.fromkeys((*differs.added, *differs.removed, *changed), "")
    entered = [document_of(hit, known) for hit in found.entered]
    left = [document_of(hit, known) for hit in found.left]
    counted = (
        (len(now.page), "hits", "added after", sum(each in differs.added for each in entered)),
        (len(now.page), "hits", "changed after", sum(each in changed for each in entered)),
        (len(then.page), "earlier hits", "removed after", sum(each in differs.removed for each in left)),
        (len(then.page), "earlier hits", "changed after", sum(each in changed for each in left)),
    )
    parts = [
        f"{count} of the {hits} {which} {'was' if count == 1 else 'were'} {what} that search"
        for hits, which, what, count in counted
        if count
    ]
    if parts:
        return ", ".join(parts)
    if found.entered or found.left:
        return "none of the hits changed, but documents that they are ranked against"
    return "the hits are the same, and their ranks or scores are not"


def _lower(layer: Layer) -> str:
    subject = _SUBJECT[layer.layer]
    return subject[0].lower() + subject[1:]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
