import decimal
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from holdstill.ranking import bm25

TERMS = "abcd"


@st.composite
def corpora(draw):
    passage = st.dictionaries(st.sampled_from(TERMS), st.integers(1, 50), max_size=len(TERMS))
    passages = draw(st.lists(passage, max_size=12))
    lengths = [sum(held.values()) + draw(st.integers(0, 30)) for held in passages]
    visible = [draw(st.booleans()) for _ in passages]
    eligible = [seen and draw(st.booleans()) for seen in visible]
    return passages, lengths, visible, eligible


def postings(terms, passages):
    for term in terms:
        rows = [row for row, passage in enumerate(passages) if term in passage]
        yield np.array(rows, np.int64), np.array([passages[row][term] for row in rows], np.int32)


def score(terms, passages, lengths, visible, eligible):
    flags = np.array(visible, bool), np.array(eligible, bool)
    return bm25.scores(list(postings(terms, passages)), np.array(lengths, np.int32), *flags)


def as_dict(matches):
    return dict(zip(matches.rows.tolist(), matches.scores.tolist(), strict=True))


@settings(deadline=None)
@given(st.permutations(TERMS), corpora())
def test_is_the_definition_bit_for_bit(terms, corpus):
    matches = score(terms, *corpus)
    assert as_dict(matches) == oracle.bm25(terms, *corpus)
    assert matches.rows.tolist() == sorted(matches.rows.tolist())
    assert matches.scores.dtype == np.int64
    passages, _, visible, _ = corpus
    held = {term for passage, seen in zip(passages, visible, strict=True) if seen for term in passage}
    assert matches.known_terms == len(held)


@given(corpora())
def test_is_near_the_formula_in_floating_point(corpus):
    passages, lengths, visible, _ = corpus
    count, total = sum(visible), sum(length for length, seen in zip(lengths, visible, strict=True) if seen)
    for row, got in as_dict(score(TERMS, passages, lengths, visible, visible)).items():
        expected = 0.0
        for term, tf in passages[row].items():
            df = sum(term in passage for passage, seen in zip(passages, visible, strict=True) if seen)
            weight = math.log(1 + (count - df + 0.5) / (df + 0.5))
            expected += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[row] / (total / count)))
        assert got / 2**20 == pytest.approx(expected, rel=2e-4, abs=2e-5)


@given(corpora())
def test_what_is_not_visible_changes_nothing(corpus):
    kept = [row for row, seen in enumerate(corpus[2]) if seen]
    alone = score(TERMS, *([column[row] for row in kept] for column in corpus))
    matches = score(TERMS, *corpus)
    assert matches.rows.tolist() == [kept[row] for row in alone.rows.tolist()]
    assert matches.scores.tolist() == alone.scores.tolist()
    assert matches.known_terms == alone.known_terms


@given(corpora())
def test_a_filter_changes_no_score(corpus):
    passages, lengths, visible, eligible = corpus
    everything = as_dict(score(TERMS, passages, lengths, visible, visible))
    filtered = as_dict(score(TERMS, *corpus))
    assert filtered == {row: held for row, held in everything.items() if eligible[row]}


def test_a_match_is_holding_the_term_not_a_score_above_zero():
    count = 2**21
    everywhere = np.arange(count), np.ones(count, np.int32)
    everyone = np.ones(count, bool)
    matches = bm25.scores([everywhere], np.ones(count, np.int32), everyone, everyone)
    assert (len(matches.rows), matches.scores.max(), matches.known_terms) == (count, 0, 1)


def test_a_term_seen_only_outside_the_filter_is_known():
    matches = score("a", [{"a": 1}, {"b": 1}], [1, 1], [True, True], [False, True])
    assert (len(matches.rows), matches.known_terms) == (0, 1)


@pytest.mark.parametrize("terms", ["", "z"])
def test_nothing_found(terms):
    matches = score(terms, [{"a": 1}], [1], [True], [True])
    assert (len(matches.rows), len(matches.scores), matches.known_terms) == (0, 0, 0)


def test_an_empty_collection():
    assert len(score("a", [], [], [], []).rows) == 0


counts = st.integers(1, 2**31)


@given(counts, st.data())
def test_idf_is_the_rounded_logarithm(count, data):
    df = data.draw(st.integers(1, count))
    got = bm25.idf(count, df)
    assert got == oracle.idf(count, df)
    assert got == pytest.approx(math.log1p((count - df + 0.5) / (df + 0.5)) * 2**20, abs=0.5001)


def test_idf_does_not_depend_on_the_decimal_context():
    expected = bm25.idf(1_000_000, 3)
    with decimal.localcontext() as context:
        context.prec, context.rounding, context.traps[decimal.Inexact] = 2, decimal.ROUND_UP, True
        assert bm25.idf(1_000_000, 3) == expected == 13_172_997


@pytest.mark.parametrize("tf", [1, 2**15, 2**21, 2**31 - 1])
@pytest.mark.parametrize("length", [1, 300, 2**22, 2**31 - 1])
@pytest.mark.parametrize("count", [1, 10**6, 2**31, 2**40])
def test_no_size_overflows(tf, length, count):
    for total in (count, length + count - 1, length * count):
        got = bm25.saturation(np.array([tf, 1], np.int32), np.array([length, length], np.int32), count, total)
        assert got.dtype == np.int64
        for each, frequency in zip(got.tolist(), (tf, 1), strict=True):
            norm = math.floor(oracle.K1 * (1 - oracle.B + oracle.B * length * count / total) * 2**16)
            assert each == math.floor(frequency * (oracle.K1 + 1) * 2**36 / (frequency * 2**16 + norm))


def test_longer_passages_and_rarer_holdings_score_no_higher():
    tf = np.arange(1, 200, dtype=np.int32)
    assert (np.diff(bm25.saturation(tf, np.full(199, 50, np.int32), 1000, 50_000)) > 0).all()
    lengths = np.arange(1, 200, dtype=np.int32)
    assert (np.diff(bm25.saturation(np.full(199, 3, np.int32), lengths, 1000, 50_000)) < 0).all()


def test_the_constants_are_those_of_the_formula():
    assert (bm25.K1, bm25.B) == (oracle.K1, oracle.B)
