"""Why an answer is different: the layers between then and now, each tried alone, and one sentence to act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from holdstill.audit.conditions import Conditions, Page, run
from holdstill.audit.findings import Blame, Layer, LayerName, Side, document_of
from holdstill.audit.layers import Effect, Path, effect, effects, path, switched
from holdstill.audit.verdict import sentence
from holdstill.predicate import Predicate
from holdstill.query import Settings
from holdstill.reports import Diff
from holdstill.stores.base import Generation, Store


def blame(store: Store, search_id: str, then: Side, now: Side, other: str | None = None) -> Blame:
    """Compare two answers to one question, layer by layer.

    Raises:
        holdstill.SnapshotPruned: a snapshot between the two is not kept, so that they cannot be made again.
    """
    again = run(store, then.conditions)
    differs = store.diff(then.conditions.commit, now.conditions.commit)
    steps = path(store.history(), then.conditions.commit, now.conditions.commit, _first(store))
    layers = [
        _corpus(store, then, now, steps, differs),
        _policy(store, then, now),
        *_generations(store, then, now, steps),
        _fusion(store, then, now),
        _engine(store, then, now, again),
    ]
    before, after = _ids(then.page), _ids(now.page)
    found = Blame(
        search_id=search_id,
        other=other,
        identical=then.page == now.page,
        entered=tuple(id_ for id_ in after if id_ not in before),
        left=tuple(id_ for id_ in before if id_ not in after),
        layers=tuple(layers),
        sentence="",
    )
    return replace(found, sentence=sentence(found, then, now, differs))


def _first(store: Store) -> int:
    return store.generations()[0].generation.number


# -- layers ------------------------------------------------------------------------------------------


def _corpus(store: Store, then: Side, now: Side, steps: Path, differs: Diff) -> Layer:
    changed = bool(differs.added or differs.removed or differs.changed)
    backwards = now.conditions.commit < then.conditions.commit
    found = list(effects(store, _both(then, now), steps.corpus, backwards=backwards)) if changed else []
    return Layer(
        "corpus",
        changed,
        _any(found),
        f"commit {then.conditions.commit}",
        f"commit {now.conditions.commit}",
        _fates(then.page, now.page, differs) if changed else (),
    )


def _both(then: Side, now: Side) -> Conditions:
    """The conditions of then, with the vectors of both models: the way may lead through either's generations."""
    return replace(then.conditions, vectors={**now.conditions.vectors, **then.conditions.vectors})


def _fates(before: Page, after: Page, differs: Diff) -> tuple[str, ...]:
    """What became of the documents whose hits entered or left."""
    fate = dict.fromkeys(differs.added, "added since")
    fate |= dict.fromkeys(differs.removed, "removed since")
    fate |= {each.id: f"changed since: {_what(each.text, each.fields, each.metadata)}" for each in differs.changed}
    lines = []
    for word, of, others in (("entered", after, before), ("left", before, after)):
        known = _ids(others)
        moved = [row.id for row in of if row.id not in known]
        lines += [f"{id_} {word}: {fate.get(document_of(id_, fate), 'its document is as it was')}" for id_ in moved]
    return tuple(lines)


def _what(text: bool, fields: Sequence[str], metadata: bool) -> str:
    parts = ["text"] if text else []
    parts += fields
    return ", ".join([*parts, "metadata"] if metadata else parts)


def _policy(store: Store, then: Side, now: Side) -> Layer:
    """What may be seen: by another policy, and, where an earlier commit was searched, by other fields of today."""
    old, new = then.conditions, now.conditions
    seen_at = old.seen_at if old.commit == old.seen_at or old.permission is None else new.seen_at
    brought = replace(old, permission=new.permission, seen_at=seen_at)
    same = str(old.permission) == str(new.permission) and seen_at == old.seen_at
    found = None if same else effect(store, old, brought)
    evidence = []
    if str(old.permission) != str(new.permission):
        evidence.append(f"what may be seen was: {_spelled(old.permission)}; and is: {_spelled(new.permission)}")
    if seen_at != old.seen_at:
        evidence.append(f"what may be seen goes by the fields at commit {seen_at}, and went by those at {old.seen_at}")
    if not now.permission_known:
        evidence.append("it is not known who asked, so that the present policy could not be tried: name the principal")
    moved = False if found is None else found.moved
    return Layer(
        "policy",
        changed=not same or then.policy != now.policy,
        moved=moved or (moved if now.permission_known else None),
        then=_version(then.policy),
        now=_version(now.policy),
        evidence=tuple(evidence),
    )


def _spelled(permission: Predicate | None) -> str:
    return "everything" if permission is None else str(permission)


def _version(policy: int | None) -> str:
    return "none" if policy is None else f"version {policy}"


def _generations(store: Store, then: Side, now: Side, steps: Path) -> list[Layer]:
    """How documents are indexed: analyser, embedding model, and the splitting into passages."""
    old, new = then.generation, now.generation
    found: dict[LayerName, _Tried] = {"analyser": _Tried(), "model": _Tried(), "index": _Tried()}
    known = {each.generation.number: each.generation for each in store.generations()}
    number = {0: _first(store)} | {each.commit: each.generation for each in store.history()}
    for low, high in steps.switches:
        ends = (high, low) if now.conditions.commit < then.conditions.commit else (low, high)
        before, after = (replace(_both(then, now), commit=commit, seen_at=commit) for commit in ends)
        one, two = (known.get(number[commit]) for commit in ends)
        if one is None or two is None:
            for name, tried in found.items():
                tried.lose(getattr(old, _MADE[name]) != getattr(new, _MADE[name]))
            continue
        did = switched(store, before, after, one, two)
        if one.analysis != two.analysis:
            found["analyser"].add(did.analyser, did.whole, two)
        if one.model != two.model:
            found["model"].add(did.model, did.whole, two)
        if did.split:
            found["index"].add(did.index, did.whole, two)
    found["model"].evidence += _turned(then, now)
    states: dict[LayerName, tuple[str, str]] = {
        "analyser": (old.analysis, new.analysis),
        "model": (old.model or "none", new.model or "none"),
        "index": (_index(old), _index(new)),
    }
    return [
        Layer(name, tried.changed, tried.moved, *states[name], tuple(tried.evidence)) for name, tried in found.items()
    ]


#: What of a generation each layer is.
_MADE: dict[LayerName, str] = {"analyser": "analysis", "model": "model", "index": "profile"}


@dataclass(slots=True)
class _Tried:
    """What became of one layer at the switches of generations."""

    changed: bool = False
    moved: bool | None = False
    evidence: list[str] = field(default_factory=list)

    def lose(self, changed: bool) -> None:
        """A switch to or from a generation that was dropped."""
        if changed:
            self.changed, self.moved = True, _or(self.moved, None)
            self.evidence.append("a generation on the way was dropped, so that it could not be tried")

    def add(self, alone: Effect | None, whole: Effect, generation: Generation) -> None:
        """One switch: the layer's own effect, or that of all that changed, where it cannot be told apart."""
        self.changed = True
        self.moved = _or(self.moved, (whole if alone is None else alone).moved)
        if alone is None:
            self.evidence.append(f"not told apart from what else changed with generation {generation.number}")


def _index(generation: Generation) -> str:
    return f"generation {generation.number}, passages by {generation.profile}"


def _turned(then: Side, now: Side) -> list[str]:
    """How far the question's vector is from what it was."""
    old = then.conditions.vectors.get(then.generation.model or "")
    new = now.conditions.vectors.get(now.generation.model or "")
    if old is None or new is None or then.generation.model == now.generation.model:
        return []
    if len(old) != len(new):
        return [f"the question's vector has {len(new)} dimensions, and had {len(old)}"]
    cosine = int(old.astype(np.int64) @ new.astype(np.int64)) / 2**30
    return [f"the cosine of the question's vector with what it was is {cosine:.6f}"]


def _fusion(store: Store, then: Side, now: Side) -> Layer:
    old, new = then.conditions.query.settings, now.conditions.query.settings
    if old == new:
        return Layer("fusion", False, False, _settings(old, ("rrf_k",)), _settings(new, ("rrf_k",)))
    query = replace(then.conditions.query, settings=new)
    found = effect(store, then.conditions, replace(then.conditions, query=query))
    differ = [name for name in ("rrf_k", "weights", "depth", "syntax") if getattr(old, name) != getattr(new, name)]
    return Layer("fusion", True, found.moved, _settings(old, differ), _settings(new, differ))


def _settings(settings: Settings, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_setting(settings, name)}" for name in names)


def _setting(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    return ", ".join(f"{arm} {weight}" for arm, weight in value.items()) or "equal" if name == "weights" else str(value)


def _engine(store: Store, then: Side, now: Side, again: Page) -> Layer:
    """What re-running under the very conditions does not give again: the engine, unless documents were purged."""
    purged = store.purged(then.conditions.commit)
    evidence = () if again == then.page else ("under the conditions of then, the answer of then does not come again",)
    if purged and evidence:
        more = f"{purged} documents that were visible then have been purged since"
        return Layer("purge", True, True, "there", "erased", (*evidence, more))
    return Layer("engine", then.engine != now.engine, bool(evidence), then.engine, now.engine, evidence)


def _any(found: Sequence[Effect]) -> bool | None:
    moved: bool | None = False
    for each in found:
        moved = _or(moved, each.moved)
    return moved


def _or(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if one is None or other is None else False


def _ids(page: Page) -> dict[str, None]:
    return {row.id: None for row in page}
