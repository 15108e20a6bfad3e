"""`fuse`: every option reaches `holdstill.fuse`, and the rows are shown, printed or written."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest

RANKS = ["--rank", "bm25_rank=bm25 desc", "--rank", "vector_rank=array_cosine_similarity(vec, [1, 0]::FLOAT[2]) desc"]


@pytest.fixture
def scores(tmp_path):
    rows = "(1, 3.0, [0, 1], 'one'), (2, 2.0, [1, 0], 'two\x1b[0m'), (3, 'nan'::DOUBLE, [1, 1], NULL)"
    query = f"SELECT id, bm25::DOUBLE AS bm25, vec::FLOAT[] AS vec, title FROM (VALUES {rows}) v(id, bm25, vec, title)"
    duckdb.sql(query).write_parquet(str(tmp_path / "scores.parquet"))
    return tmp_path / "scores.parquet"


def test_rows_as_json(ask, scores):
    answer = ask("fuse", scores, "--id", "id", *RANKS, "--carry", "title", "--top", "2")
    assert (answer["total"], answer["returned"], answer["notes"]) == (3, 2, [])
    assert answer["rows"] == [
        {
            "id": 2,
            "title": "two\x1b[0m",
            "bm25_rank": 2,
            "vector_rank": 1,
            "rrf_score": float(Fraction(1, 61) + Fraction(1, 62)),
        },
        {
            "id": 1,
            "title": "one",
            "bm25_rank": 1,
            "vector_rank": 3,
            "rrf_score": float(Fraction(1, 61) + Fraction(1, 63)),
        },
    ]


def test_options_reach_the_fusion(ask, scores):
    answer = ask(
        "fuse", scores, "--id", "id", *RANKS, "--rrf-k", 1, "--weights", "0.5,1", "--round", 2, "--ties", "rank"
    )
    assert [(row["id"], row["rrf_score"]) for row in answer["rows"]] == [(2, 0.67), (1, 0.5), (3, 0.33)]
    assert answer["rows"][2]["bm25_rank"] is None


def test_the_table_for_people(run, scores):
    shown = run("fuse", scores, "--id", "id", *RANKS, "--carry", "title", "--top", "2")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    assert shown.stdout.splitlines()[0].split() == ["id", "title", "bm25_rank", "vector_rank", "rrf_score"]
    assert "2 of 3 rows" in shown.stdout


def test_rows_are_written(run, ask, scores, tmp_path):
    out = tmp_path / "out.parquet"
    shown = run("fuse", scores, "--id", "id", *RANKS, "-o", out, "--profile")
    assert shown.exit_code == 0
    assert duckdb.sql(f"SELECT id FROM '{out}'").fetchall() == [(2,), (1,), (3,)]
    stages = [line.split()[0] for line in shown.stdout.splitlines() if " ms " not in line][1:]
    assert {"read", "ids", "rank", "score", "order", "write"} <= set(stages)
    assert "*" in shown.stdout
    answer = ask("fuse", scores, "--id", "id", *RANKS, "-o", out, "--profile")
    assert answer["output"] == str(out)
    assert "rows" not in answer
    assert list(answer["stages"][0]) == ["stage", "ms", "rows", "bytes"]


def test_duplicates_are_noted(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,s\n1,1\n1,2\n", encoding="utf-8")
    words = ["fuse", tmp_path / "t.csv", "--id", "id", "--rank", "a=s desc", "--rank", "b=s asc"]
    assert run(*words).exit_code == 2
    kept = run(*words, "--duplicates", "keep")
    assert (kept.exit_code, kept.stderr) == (0, "note: 1 id stands on 2 rows in all\n")
    assert "2 rows became 4" in run(*words, "--duplicates", "join").stderr


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--rank", "a=nope desc"], "rank"),
        (["--rank", "a=bm25 desc", "--weights", "x"], "weights"),
        (["--rank", "a=bm25 desc", "--carry", "nope"], "carry"),
        (["--rank", "a=bm25 desc", "--table", "t"], "table"),
        (["--rank", "a=bm25 desc", "-o", "x.txt"], "output"),
    ],
)
def test_what_cannot_be_fused(fault, scores, words, field):
    assert fault("fuse", scores, "--id", "id", *words)["field"] == field
