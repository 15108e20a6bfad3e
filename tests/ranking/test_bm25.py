import decimal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from holdstill.ranking import bm25, kernels
from holdstill.ranking.ranks import top

pytestmark = pytest.mark.usefixtures("path")

TERMS = "abcd"


@st.composite
def corpora(draw):
    passage = st.dictionaries(st.sampled_from(TERMS), st.integers(1, 50), max_size=len(TERMS))
    passages = draw(st.lists(passage, max_size=12))
    others = st.one_of(st.integers(0, 30), st.integers(400, 3000))
    lengths = [sum(held.values()) + draw(others) for held in passages]
    visible = [draw(st.booleans()) for _ in passages]
    eligible = [seen and draw(st.booleans()) for seen in visible]
    return passages, lengths, visible, eligible


def postings(terms, passages):
    for term in terms:
        rows = [row for row, passage in enumerate(passages) if term in passage]
        yield np.array(rows, np.int32), np.array([passages[row][term] for row in rows], np.int32)


def score(terms, passages, lengths, visible, eligible):
    flags = np.array(visible, bool), np.array(eligible, bool)
    return bm25.scores(list(postings(terms, passages)), np.array(lengths, np.int32), *flags)


def as_dict(matches):
    return dict(zip(matches.rows.tolist(), matches.scores.tolist(), strict=True))


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
    everywhere = np.arange(count, dtype=np.int32), np.ones(count, np.int32)
    everyone = np.ones(count, bool)
    matches = bm25.scores([everywhere], np.ones(count, np.int32), everyone, everyone)
    assert (len(matches.rows), matches.scores.max(), matches.known_terms) == (count, 0, 1)
    assert (matches.rows == everywhere[0]).all()
    assert matches.count == bm25.leaders([everywhere], np.ones(count, np.int32), everyone, everyone, 3).count == count


def test_a_term_seen_only_outside_the_filter_is_known():
    matches = score("a", [{"a": 1}, {"b": 1}], [1, 1], [True, True], [False, True])
    assert (len(matches.rows), matches.known_terms) == (0, 1)


@pytest.mark.parametrize("terms", ["", "z"])
def test_nothing_found(terms):
    matches = score(terms, [{"a": 1}], [1], [True], [True])
    assert (len(matches.rows), len(matches.scores), matches.known_terms) == (0, 0, 0)


def test_an_empty_collection():
    assert len(score("a", [], [], [], []).rows) == 0


@st.composite
def spread(draw):
    """Some passages far apart among many that hold nothing, so that they fall into several windows of the kernel."""
    size = draw(st.sampled_from([1, 32_767, 32_768, 32_769, 70_000]))
    places = np.unique(np.array([0, *draw(st.lists(st.integers(0, size - 1), max_size=30)), size - 1], np.int32))
    frequency = st.sampled_from([1, 1, 1, 2, 15, 16, 17, 2**20])
    tables = [draw(st.lists(st.sampled_from(places.tolist()), unique=True)) for _ in range(draw(st.integers(0, 5)))]
    held = [(np.array(sorted(rows), np.int32), draw_array(draw, frequency, len(rows))) for rows in tables]
    lengths = np.full(size, draw(st.integers(1, 30)), np.int32)
    lengths[places] = draw_array(draw, st.sampled_from([1, 20, 511, 512, 513, 2**24]), len(places))
    visible, eligible = np.full((2, size), draw(st.booleans()))
    visible[places] |= draw_array(draw, st.booleans(), len(places)) > 0
    eligible[places] = draw_array(draw, st.booleans(), len(places)) > 0
    return held, lengths, visible, eligible & visible


def draw_array(draw, values, size):
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), np.int32)


@given(spread())
def test_the_kernel_finds_what_numpy_finds(corpus):
    totals = bm25.Totals.of(*corpus[1:3])
    expected = bm25._by_numpy(*corpus, totals)
    if totals.length:
        got = bm25._by_kernel(kernels, *corpus, totals, depth=len(corpus[1]))
        assert got is not None
        assert same(got, expected)


@given(spread(), st.integers(1, 12))
def test_leaders_are_the_top_of_all_matches(corpus, depth):
    everything = bm25.scores(*corpus)
    taken = top(everything.scores, depth)
    leaders = bm25.leaders(*corpus, depth)
    assert leaders.rows.tolist() == everything.rows[taken].tolist()
    assert leaders.scores.tolist() == everything.scores[taken].tolist()
    assert leaders.count == everything.count == len(everything.rows)
    assert leaders.known_terms == everything.known_terms


@given(st.integers(1, 40), st.integers(1, 7), st.booleans())
def test_leaders_among_many_that_rise_or_fall_and_tie(depth, levels, rising):
    size = 70_000
    frequencies = 1 + np.arange(size, dtype=np.int32) * levels // size
    frequencies = frequencies if rising else frequencies[::-1].copy()
    everyone, totals = np.ones(size, bool), bm25.Totals(10**6, 2 * 10**7)
    corpus = [(np.arange(size, dtype=np.int32), frequencies)], np.full(size, 20, np.int32), everyone, everyone
    leaders = bm25.leaders(*corpus, depth, totals)
    assert leaders.rows.tolist() == np.flatnonzero(frequencies == levels).tolist()
    assert (leaders.count, len(set(leaders.scores.tolist()))) == (size, 1)


@given(spread())
def test_totals_that_are_known_change_nothing(corpus):
    totals = bm25.Totals.of(*corpus[1:3])
    assert (totals.passages, totals.length) == (corpus[2].sum(), corpus[1][corpus[2]].sum(dtype=np.int64))
    assert same(bm25.scores(*corpus), bm25.scores(*corpus, totals))


def same(one, other):
    return (one.rows.tolist(), one.scores.tolist(), one.count, one.known_terms) == (
        other.rows.tolist(),
        other.scores.tolist(),
        other.count,
        other.known_terms,
    )


@pytest.mark.parametrize("tf", [1, 16, 2**21, 2**31 - 1])
@pytest.mark.parametrize("length", [1, 300, 2**22, 2**31 - 1])
@pytest.mark.parametrize("totals", [(1, 1), (10**6, 10**7), (2**31, 2**40), (2**40, 2**61)])
def test_what_passes_64_bits_is_as_exact(tf, length, totals):
    one, everyone = [(np.array([0], np.int32), np.array([tf], np.int32))], np.ones(1, bool)
    matches = bm25.leaders(one, np.array([length], np.int32), everyone, everyone, 1, bm25.Totals(*totals))
    assert matches.scores.tolist() == [oracle.contribution(*totals, 1, tf, length)]


def test_the_kernel_declines_only_what_passes_64_bits():
    everyone = np.ones(1, bool)

    def declined(tf, length):
        one = [(np.array([0], np.int32), np.array([tf], np.int32))]
        corpus = one, np.array([length], np.int32), everyone, everyone, bm25.Totals(10**6, 10**7)
        return bm25._by_kernel(kernels, *corpus, depth=1) is None

    most, longest = (2**63 - 1) // (11 * 2**36), ((2**47 - 1) - 3 * 10**7) // (9 * 10**6)
    assert [declined(tf, longest) for tf in (1, most, most + 1)] == [False, False, True]
    assert [declined(most, length) for length in (1, longest, longest + 1)] == [False, False, True]


counts = st.integers(1, 2**31)


@given(counts, st.data())
def test_idf_is_the_rounded_logarithm(count, data):
    df = data.draw(st.integers(1, count))
    got = bm25.idf(count, df)
    assert got == oracle.idf(count, df)
    assert got == pytest.approx(math.log1p((count - df + 0.5) / (df + 0.5)) * 2**20, abs=0.5001)


@pytest.mark.parametrize("error", [-5e-11, 0, 5e-11])
def test_idf_does_not_depend_on_the_library_s_logarithm(monkeypatch, error):
    expected = [oracle.idf(1_000_000, df) for df in range(1, 3000)]
    logarithm = math.log
    monkeypatch.setattr(bm25.math, "log", lambda x: logarithm(x) * (1 + error))
    assert [bm25.idf(1_000_000, df) for df in range(1, 3000)] == expected


def test_idf_does_not_depend_on_the_decimal_context(monkeypatch):
    monkeypatch.setattr(bm25, "_IN_DOUBT", 1)
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
