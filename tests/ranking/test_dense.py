import hashlib
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from holdstill.errors import InvariantViolated
from holdstill.ranking import dense
from holdstill.ranking.grid import MAX_DIMENSIONS, to_grid

on_grid = st.integers(-32767, 32767)


@st.composite
def cases(draw):
    width, count = draw(st.integers(1, 6)), draw(st.integers(0, 20))
    rows = draw(st.lists(st.lists(on_grid, min_size=width, max_size=width), min_size=count, max_size=count))
    query = draw(st.lists(on_grid, min_size=width, max_size=width))
    eligible = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return rows, query, eligible, [0, *cuts, count], draw(st.sampled_from([1, 7, 16, 2**18]))


@settings(deadline=None)
@given(cases())
def test_is_the_integer_dot_product_whatever_the_blocks_and_chunks(case):
    rows, query, eligible, cuts, chunk = case
    whole = np.array(rows, np.int16).reshape(-1, len(query))
    blocks = [dense.Block(start, whole[start:stop]) for start, stop in pairwise(cuts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "_CHUNK", chunk)
        got = dense.scores(blocks, np.array(query, np.int16), np.array(eligible, bool))
    assert got.dtype == np.int64
    assert got.tolist() == [oracle.dot(row, query) for row, held in zip(rows, eligible, strict=True) if held]


def test_is_exact_at_the_largest_size():
    rows = np.full((3, MAX_DIMENSIONS), 32767, np.int16)
    rows[1] = -32767
    got = dense.scores([dense.Block(0, rows)], rows[0], np.ones(3, bool))
    assert got.tolist() == [MAX_DIMENSIONS * 32767**2, -MAX_DIMENSIONS * 32767**2, MAX_DIMENSIONS * 32767**2]


_PROGRAM = """
import hashlib, numpy as np
from holdstill.ranking import dense
rows = (np.arange(20_000 * 96) ** 2 % 65535 - 32767).astype(np.int16).reshape(-1, 96)
scores = dense.scores([dense.Block(0, rows)], rows[5], np.ones(len(rows), bool))
print(hashlib.sha256(scores.astype("<i8").tobytes()).hexdigest())
"""


def test_the_number_of_threads_changes_no_bit():
    rows = (np.arange(20_000 * 96) ** 2 % 65535 - 32767).reshape(-1, 96)
    expected = hashlib.sha256((rows @ rows[5]).astype("<i8").tobytes()).hexdigest()
    for threads in ("1", "2", "5"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        program = [sys.executable, "-c", _PROGRAM]
        assert subprocess.run(program, env=environment, capture_output=True, check=True, text=True).stdout.strip() == (
            expected
        )


def test_rows_that_are_not_eligible_are_not_read():
    class Unread:
        def __len__(self):
            return 10

        def __getitem__(self, item):
            raise AssertionError("read")

    rows = to_grid(np.eye(3))
    eligible = np.r_[np.zeros(10, bool), np.ones(3, bool)]
    assert dense.scores([dense.Block(0, Unread()), dense.Block(10, rows)], rows[1], eligible).tolist() == [
        0,
        32767**2,
        0,
    ]


def test_reads_a_mapped_file(tmp_path):
    rows = to_grid(np.arange(1.0, 31.0).reshape(10, 3))
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    eligible = np.arange(10) % 3 == 0
    assert dense.scores([dense.Block(0, mapped)], rows[0], eligible).tolist() == [
        oracle.dot(row, rows[0].tolist()) for row in rows[eligible].tolist()
    ]


@pytest.mark.parametrize(
    "spans", [[], [(0, 2)], [(1, 4)], [(0, 2), (3, 4)], [(2, 4), (0, 2)], [(0, 3), (1, 4)]], ids=str
)
def test_blocks_that_miss_or_repeat_an_eligible_row_are_a_bug(spans):
    rows = to_grid(np.ones((4, 2)))
    blocks = [dense.Block(start, rows[start:stop]) for start, stop in spans]
    with pytest.raises(InvariantViolated, match="do not cover the eligible rows"):
        dense.scores(blocks, rows[0], np.ones(4, bool))


def test_blocks_may_pass_over_what_is_not_eligible():
    rows = to_grid(np.ones((4, 2)))
    assert len(dense.scores([dense.Block(2, rows[2:3])], rows[0], np.array([0, 0, 1, 0], bool))) == 1
