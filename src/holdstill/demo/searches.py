"""The four searches of the demo, and what each answer proves: sentences, each checked before it is said."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdstill.collection import Collection
from holdstill.errors import InvariantViolated
from holdstill.query import ARMS, ArmName
from holdstill.result import Completeness, Hit, Result

#: A sentence and whether it holds.
Claim = tuple[str, bool]

_PLACES = ("Berlin", "Remote")
_RESUMES = "kind = 'resume'"
_IN_PLACES = f"{_RESUMES} and location in ('Berlin', 'Remote')"
_WEB = f"{_IN_PLACES} and has_all(skills, 'typescript', 'accessibility')"
_VERSION, _NEIGHBOUR = "v2.14.1", "v2.14.0"


@dataclass(frozen=True, slots=True)
class Search:
    """One search of the demo.

    Attributes:
        title: what it shows.
        why: what is asked, in words.
        text, where, must_not, arms: as `Collection.search` takes them; `k` stays 10.
        claims: what its answer is claimed to prove.
    """

    title: str
    why: str
    text: str
    where: str
    claims: Callable[[Search, Collection, Result], Iterator[Claim]]
    must_not: tuple[str, ...] = ()
    arms: tuple[ArmName, ...] | None = None

    def run(self, collection: Collection, *, offset: int = 0, arms: tuple[ArmName, ...] | None = None) -> Result:
        """Ask it, or, with `arms`, ask those arms alone."""
        return collection.search(
            self.text,
            where=self.where,
            must_not=self.must_not,
            arms=arms or self.arms,
            offset=offset,
            operator=True,
        )

    def command(self, directory: Path) -> str:
        """The same search from the shell; the texts hold nothing that means something between double quotes."""
        words = ["holdstill", "search", shlex.quote(str(directory)), f'"{self.text}"', f'--where "{self.where}"']
        words += [f"--must-not {word}" for word in self.must_not]
        words += [f"--arm {arm}" for arm in self.arms or ()]
        return " ".join(words)


def prove(search: Search, collection: Collection, result: Result) -> list[str]:
    """What the answer proves, in sentences that were all checked.

    Raises:
        holdstill.InvariantViolated: one of them does not hold.
    """
    sentences = []
    for sentence, holds in search.claims(search, collection, result):
        if not holds:
            raise InvariantViolated(
                f"a claim of the demo does not hold: {sentence}",
                field=search.title,
                hint="If the demo's collection was changed by hand, delete it and run the demo again; "
                "otherwise this is a bug: please report it",
            )
        sentences.append(sentence)
    return sentences


# -- 1: a hard constraint ------------------------------------------------------------------------


def _constraint(search: Search, collection: Collection, result: Result) -> Iterator[Claim]:
    stored = [collection.get(hit.document, operator=True).fields for hit in result]
    yield (
        f"All {len(result)} people shown have at least 5 years and are in Berlin or remote: read back from the store.",
        all(fields["years_exp"] >= 5 and fields["location"] in _PLACES for fields in stored),
    )
    qualified = collection.count(search.where, operator=True)
    yield (
        f"{qualified} people qualify, and both arms ranked only those: no similarity bought anybody a place.",
        [arm.eligible for arm in result.arms] == [qualified, qualified],
    )
    yield (
        f"It is `{result.completeness}`: these are the first {len(result)} of the ranking of all {qualified}, proven.",
        result.completeness is Completeness.COMPLETE and result.ranking["proof"] == "exhaustive",
    )
    unsaid = collection.search(where=f"{_IN_PLACES} and years_exp is null", k=300, operator=True)
    yield (
        f"{len(unsaid)} more do not say how many years: counted, not dropped in silence: {_named(unsaid.hits)}.",
        len(unsaid) == result.unknown["years_exp"] > 0,
    )


# -- 2: a negation -------------------------------------------------------------------------------


def _negation(search: Search, collection: Collection, result: Result) -> Iterator[Claim]:
    (word,) = search.must_not
    without = collection.search(search.text, where=search.where, operator=True)
    before, after = _mentions(without.hits, word), _mentions(result.hits, word)
    yield (
        f"Without --must-not, {before} of the first {len(without)} resumes mention {word}; with it, {after}.",
        before > 0 == after,
    )
    alone = [search.run(collection, arms=(arm,)) for arm in ARMS]
    yield (
        f"Asked alone, each arm obeys too: {' and '.join(ARMS)} return no resume that mentions {word}.",
        all(len(each) > 0 == _mentions(each.hits, word) for each in alone),
    )
    people = collection.count(search.where, operator=True)
    holding = collection.count(f"{search.where} and contains(text, '{word}')", operator=True)
    left = result.arms[0].eligible
    yield (
        f"Nobody else was lost: of {people} people {holding} mention {word}, and {left} remain.",
        people - holding == left,
    )


# -- 3: an identifier ----------------------------------------------------------------------------


def _identifier(search: Search, collection: Collection, result: Result) -> Iterator[Claim]:
    exact = collection.count(f"{search.where} and contains(text, '{_VERSION}')", operator=True)
    near = collection.count(f"{search.where} and contains(text, '{_NEIGHBOUR}')", operator=True)
    first, rest = result.hits[:exact], result.hits[exact:]
    yield (
        f"{exact} resumes name {_VERSION}, and they are the first {exact} hits: an identifier is one word.",
        0 < exact == _mentions(first, _VERSION),
    )
    yield (
        f"{near} others name {_NEIGHBOUR}. The best of them comes at rank {rest[0].rank}, for the words they share.",
        _mentions(first, _NEIGHBOUR) == 0 and _mentions(rest[:1], _NEIGHBOUR) == 1,
    )
    meaning = search.run(collection, arms=("dense",))
    found = _mentions(meaning.hits[:exact], _VERSION)
    yield (
        f"Vectors cannot tell: it is in {found} of the dense arm's first {exact}. --must {_VERSION} binds every arm.",
        found < exact,
    )


# -- 4: an honest end ----------------------------------------------------------------------------


def _end(search: Search, collection: Collection, result: Result) -> Iterator[Claim]:
    matching = collection.count(search.where, operator=True)
    yield (
        f"{result.k} were asked for, {len(result)} exist, and a count agrees. `{result.completeness}`: the list ends.",
        result.completeness is Completeness.EXHAUSTED and len(result) == matching < result.k,
    )
    beyond = search.run(collection, offset=len(result))
    yield (
        f"The page after it holds {len(beyond)} hits: nothing was loosened to fill a list.",
        len(beyond) == 0 and beyond.completeness is Completeness.EXHAUSTED,
    )
    unsaid = result.unknown["years_exp"]
    yield (
        f"{unsaid} more would have the skills but {'does' if unsaid == 1 else 'do'} not say how many years.",
        unsaid == collection.count(f"{_WEB} and years_exp is null", operator=True),
    )


SEARCHES = (
    Search(
        "A hard constraint",
        "Backend people for payments, with 5 years or more, in Berlin or remote.",
        "payments backend",
        f"{_IN_PLACES} and years_exp >= 5",
        _constraint,
    ),
    Search(
        "A negation",
        "Somebody for event streaming, but not the Kafka way.",
        "event streaming pipelines",
        _RESUMES,
        _negation,
        must_not=("kafka",),
    ),
    Search(
        "An identifier",
        f"Who has worked with {_VERSION} of orderbus? Not {_NEIGHBOUR}, not v2.14.10.",
        f"orderbus {_VERSION}",
        _RESUMES,
        _identifier,
        arms=("lexical",),
    ),
    Search(
        "An honest end",
        "Web people with TypeScript and accessibility, 5 years or more, in Berlin or remote. Ten of them, please.",
        "forms that work with screen readers",
        f"{_WEB} and years_exp >= 5",
        _end,
    ),
)


def _mentions(hits: tuple[Hit, ...], word: str) -> int:
    """How many of the hits have the word, found in plain Python rather than by the index that is under proof."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)", re.IGNORECASE)
    return sum(pattern.search(f"{hit.title}\n{hit.text}") is not None for hit in hits)


def _named(hits: tuple[Hit, ...]) -> str:
    names = [hit.title.split(",")[0] for hit in hits[:3]]
    return ", ".join(names) + (f" and {len(hits) - len(names)} others" if len(hits) > len(names) else "")
