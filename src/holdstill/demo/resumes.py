"""Three hundred people who do not exist: generated resumes, the same on every machine and every Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TypeVar

from holdstill.demo.trades import TRADES, VERSIONS, Trade
from holdstill.document import Document

PEOPLE = 300

Option = TypeVar("Option")

_THIS_YEAR = 2026  # fixed: a resume must not change with the calendar
_REMOTE = "Remote"
_LOCATIONS = (_REMOTE, _REMOTE, "Berlin", "Berlin", "Lisbon", "Gdansk", "Vienna", "Dublin", "Oslo", "Lyon")
_FIRST_NAMES = """
    Ada Aisha Alan Amara Ana Anton Beatriz Bilal Carmen Chiara Daniel Darya Elif Emeka Erik Farah Felix Freya
    Gabriel Giulia Hana Henrik Ines Isaac Ivana Jamal Joanna Jonas Kamala Karim Katrin Kenji Lena Leo Lucia
    Malik Marek Maria Mei Mikael Nadia Nils Noor Olga Omar Paula Pavel Priya Rafael Rosa Samir Sofia Stefan Tara
    Tomas Uma Viktor Wanda Yusuf Zofia
"""
_LAST_NAMES = """
    Adeyemi Almeida Andersson Bauer Becker Bianchi Brandt Castro Chen Costa Dahl Diallo Dubois Eriksen Farkas
    Fischer Garcia Gruber Haddad Hansen Horvat Ibrahim Ito Jansen Jovanovic Kaya Keller Khan Kowalska Kumar Lang
    Larsen Lindqvist Lopes Marino Mensah Meyer Moreau Murphy Nagy Novak Nowak Okafor Olsen Osei Pereira Petrov
    Popescu Rossi Sato Schmidt Silva Singh Soares Tamm Virtanen Vogel Walsh Weber Wolff Yilmaz
"""
_SUMMARIES = (
    "{title}, {place}, {time}. Cares about {aim}.",
    "{title} with a liking for {aim}; {time}, {place}.",
    "{time_first}, {place}. {title}, most at home with {first_skill}, looking for {aim}.",
)
_INTERESTS = (
    "Sings in a choir that is better than its rehearsals.",
    "Repairs old bicycles for the neighbours.",
    "Volunteers on Saturdays at the tool library.",
    "Plays the accordion, quietly.",
    "Keeps bees on the roof.",
    "Coaches a youth handball team.",
    "Bakes bread; would rather talk about that.",
)


def resumes() -> Iterator[Document]:
    """The resumes, in order of their ids, `resume-001` to `resume-300`.

    Their fields are `kind`, always `resume`; `years_exp`, which some do not say; `location`; `skills`; `work_auth`,
    which some do not say; and `available`, the day they can start.
    """
    for number in range(PEOPLE):
        yield _resume(number)


class Draws:
    """Choices that hang on a seed alone: the `n`th is made of SHA-256("seed/n"), which no Python version changes."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._made = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""
        self._made += 1
        digest = hashlib.sha256(f"{self._seed}/{self._made}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def pick(self, options: Sequence[Option]) -> Option:
        """One of the options."""
        return options[self.below(len(options))]

    def several(self, options: Sequence[Option], count: int) -> list[Option]:
        """So many different positions of the options, in an order of their own."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def _resume(number: int) -> Document:
    draws = Draws(f"resume {number}")
    trade = TRADES[number % len(TRADES)]
    title, location = draws.pick(trade.titles), draws.pick(_LOCATIONS if trade.remote else _LOCATIONS[2:])
    years = None if draws.below(11) == 0 else 1 + draws.below(19)
    skills = draws.several(tuple(trade.skills), 3 + draws.below(2))
    return Document(
        f"resume-{number + 1:03d}",
        "\n\n".join(
            [
                _summary(draws, trade, title, location, years, skills),
                _history(draws, trade, years, skills),
                _closing(draws, trade, skills),
            ]
        ),
        title=f"{_name(number)}, {title[0].lower()}{title[1:]}",
        fields={
            "kind": "resume",
            "years_exp": years,
            "location": location,
            "skills": skills,
            "work_auth": None if draws.below(17) == 0 else draws.below(4) > 0,
            "available": date(_THIS_YEAR, 2, 1) + timedelta(days=7 * draws.below(30)),
        },
    )


def _name(number: int) -> str:
    """A name that nobody else in the demo has: 7 * 60 + 1 and the number of last names share no divisor."""
    first, last = _FIRST_NAMES.split(), _LAST_NAMES.split()
    again, position = divmod(number, len(first))
    return f"{first[position]} {last[(7 * number + again) % len(last)]}"


def _summary(draws: Draws, trade: Trade, title: str, location: str, years: int | None, skills: Sequence[str]) -> str:
    time = "experience on request" if years is None else f"{years} year{'s' if years > 1 else ''} in the trade"
    return draws.pick(_SUMMARIES).format(
        title=title,
        place="working remotely" if location == _REMOTE else f"based in {location}",
        time=time,
        time_first=time[0].upper() + time[1:],
        aim=draws.pick(trade.aims),
        first_skill=skills[0],
    )


def _history(draws: Draws, trade: Trade, years: int | None, skills: Sequence[str]) -> str:
    """The jobs, newest first, with a sentence for each skill among them."""
    jobs = 1 if years is not None and years < 4 else 2 + draws.below(2)
    employers = draws.several(trade.employers, jobs)
    changes = _changes(draws, years, jobs)
    parts = []
    for job, employer in enumerate(employers):
        did = [_sentence(draws, trade, skill) for skill in skills[job::jobs]]
        parts.append(f"{employer}{_when(changes, job)}. " + " ".join(did))
    return "\n".join(parts)


def _changes(draws: Draws, years: int | None, jobs: int) -> list[int] | None:
    """The years in which the jobs began, newest first; None where a resume gives no years."""
    if years is None:
        return None
    between = draws.several(range(1, years), jobs - 1)
    return sorted((_THIS_YEAR - back for back in (*between, years)), reverse=True)


def _when(changes: list[int] | None, job: int) -> str:
    if changes is None:
        return ""
    return f", since {changes[0]}" if job == 0 else f", {changes[job]} to {changes[job - 1]}"


def _sentence(draws: Draws, trade: Trade, skill: str) -> str:
    return draws.pick(trade.skills[skill]).format(
        n=12 + draws.below(80),
        pct=20 + draws.below(70),
        team=3 + draws.below(7),
        version=draws.pick(VERSIONS),
    )


def _closing(draws: Draws, trade: Trade, skills: Sequence[str]) -> str:
    parts = [f"Skills: {', '.join(skills)}."]
    if draws.below(3):
        parts.append(f"Holds: {draws.pick(trade.certificates)}.")
    parts.append(f"Came to the trade by {draws.pick(trade.degrees)}.")
    if draws.below(2):
        parts.append(draws.pick(_INTERESTS))
    return " ".join(parts)
