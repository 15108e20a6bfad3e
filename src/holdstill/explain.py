"""An answer in words: what was asked, what each arm did, what is proven, where each score comes from."""

from __future__ import annotations

from collections.abc import Iterator

from holdstill.result import Completeness, Hit, Result

_PROVEN = {
    Completeness.COMPLETE: "every position asked for is filled, and proven to be that of the whole ranking",
    Completeness.EXHAUSTED: "proven: the ranking ends here, and nothing else satisfies what was asked",
    Completeness.APPROXIMATE: "a full page, but not proven: an approximate index was used",
    Completeness.TRUNCATED: "fewer than asked, and eligible passages may remain that the depth did not reach",
    Completeness.DEGRADED: "an arm was left out, as was permitted",
}

_STOPPED = {
    "enough": "went as deep as the proof needs",
    "exhausted": "ranked everything it matched",
    "budget": "cut at the depth asked for",
    "deadline": "stopped by the deadline",
}


def explain(result: Result) -> str:
    """The answer in words, a line for each fact."""
    return "\n".join([*_asked(result), *_arms(result), *_proof(result), *(_hit(result, hit) for hit in result)])


def _asked(result: Result) -> Iterator[str]:
    understood = result.understood
    commit, newest = result.snapshot["commit"], result.snapshot["seen_at"]
    if commit < newest:
        yield f"snapshot:  commit {commit} of {newest}, generation {result.snapshot['generation']}"
    yield f"asked:     {understood['text'] if understood['text'] is not None else '(no text)'}"
    for name, label in (("must", "must:      "), ("must_not", "must not:  ")):
        if understood[name]:
            yield label + ", ".join(repr(words) for words in understood[name])
    if understood["where"] is not None:
        yield f"where:     {understood['where']}"
    for field, count in result.unknown.items():
        if count:
            has, them = ("document has", "it") if count == 1 else ("documents have", "them")
            yield f"unknown:   {count} visible {has} no {field}, so `where` is neither true nor false of {them}"


def _arms(result: Result) -> Iterator[str]:
    for arm in result.arms:
        yield (
            f"{arm.arm + ':':<11}{arm.strategy}; {arm.eligible} eligible, {arm.matched} ranked; "
            f"{_STOPPED[arm.stop]}{'' if arm.error is None else f'; {arm.error}'}"
        )


def _proof(result: Result) -> Iterator[str]:
    yield f"answer:    {result.completeness}: {_PROVEN[result.completeness]}"
    ranking = result.ranking
    if ranking["fusion"] is None:
        yield f"order:     by {ranking['order_by']}; nothing was ranked"
    else:
        depth = "all ranks" if ranking["depth"] is None else f"each arm's first {ranking['depth']} ranks"
        yield f"ranking:   sum of weight / ({ranking['rrf_k']} + rank) over {depth}"
    if result.ties_beyond:
        yield f"ties:      {result.ties_beyond} more have the score of the last hit and stand behind it by id alone"
    for note in result.notes:
        yield f"note:      {note}"


def _hit(result: Result, hit: Hit) -> str:
    if hit.score is None:
        return f"{hit.rank:>4}. {hit.id}"
    parts = []
    for arm, rank in hit.ranks.items():
        weight = result.ranking["weights"][arm]
        parts.append(f"{arm} absent" if rank is None else f"{arm} {weight}/({result.ranking['rrf_k']}+{rank})")
    return f"{hit.rank:>4}.{' tied' if hit.tied else ''} {hit.id}  {hit.score:.6f} = {' + '.join(parts)}"
