"""The registered random stream: its exact draws, its chunks and its exact sums."""

import tracemalloc
from hashlib import sha256

import numpy as np
import pytest
from scipy import stats

from lengthmirror import resampling
from lengthmirror.errors import InvalidStatistic
from lengthmirror.resampling import (
    BOOTSTRAP,
    SIGN_FLIP,
    flipped_sums,
    resample_counts,
    resampled_totals,
    sign_matrix,
)

from .registered import rule


def digest(matrix):
    return sha256(matrix.astype("<i8").tobytes()).hexdigest()


def test_resample_counts_have_the_registered_digest():
    """The 9999 x 80 resample counts of the registered seed are the registered ones."""
    counts = resample_counts(rule().bootstrap.seed, BOOTSTRAP, 9999, 80)
    assert digest(counts) == "15e99671435b9ad657414f5f2e755ee3bfe0827520459704be38d8cc81c4395d"


def test_signs_have_the_registered_digest():
    """The 9999 x 80 signs of the registered seed are the registered ones."""
    signs = sign_matrix(rule().bootstrap.seed, SIGN_FLIP, 9999, 80)
    assert digest(signs) == "00c67aca0db0f31bc5403e4e935c0cb8ca160962372e7999131d291680472f8a"


def words(seed, label, count):
    """The first 32-bit words of a stream, one Python integer at a time."""
    key = int.from_bytes(sha256(f"{seed}|{label}".encode()).digest()[:16], "little")
    raw = np.random.Philox(key=key, counter=0).random_raw((count + 1) // 2).tolist()
    return [half for word in raw for half in (word & 0xFFFFFFFF, word >> 32)][:count]


@pytest.mark.parametrize(("n_resamples", "n_clusters"), [(1, 1), (7, 3), (10, 5), (33, 80)])
def test_resample_counts_against_definition(n_resamples, n_clusters):
    """Each count is the number of 32-bit words of its row that fall to its question."""
    expected = np.zeros((n_resamples, n_clusters), dtype=int)
    for place, word in enumerate(words(5, "bootstrap", n_resamples * n_clusters)):
        expected[place // n_clusters, (word * n_clusters) >> 32] += 1
    assert np.array_equal(resample_counts(5, BOOTSTRAP, n_resamples, n_clusters), expected)


def test_signs_against_definition():
    """Each sign is 1 for an even word and -1 for an odd one, row by row."""
    expected = [1 - 2 * (word & 1) for word in words(5, "signflip", 9 * 7)]
    assert sign_matrix(5, SIGN_FLIP, 9, 7).ravel().tolist() == expected


@pytest.mark.parametrize("cells", [1, 50, 1000])
def test_chunks_do_not_change_a_bit(monkeypatch, cells):
    """Drawing in small blocks, cached or not, gives the same totals and flipped sums."""
    columns = np.arange(33).reshape(11, 3)
    expected = resampled_totals(columns, 1, 101), flipped_sums(columns[:, 0] / 7, 1, 101)
    monkeypatch.setattr(resampling, "_CHUNK_CELLS", cells)
    monkeypatch.setattr(resampling, "_SLAB_CELLS", cells // 3)
    for cached in (resampling._CACHED_CELLS, 0):
        monkeypatch.setattr(resampling, "_CACHED_CELLS", cached)
        resampling._whole.cache_clear()
        assert np.array_equal(resampled_totals(columns, 1, 101), expected[0])
        assert np.array_equal(flipped_sums(columns[:, 0] / 7, 1, 101), expected[1])


def test_fewer_resamples_are_the_first_rows_of_more():
    """The registered larger number of resamples begins with the rows of the smaller one."""
    assert np.array_equal(resample_counts(3, BOOTSTRAP, 41, 13),
                          resample_counts(3, BOOTSTRAP, 100, 13)[:41])


def test_totals_are_exact_beyond_the_precision_of_floats():
    """Sums above 2^53 keep their last bit, so no float took part."""
    columns = np.array([[2 ** 55 + 1], [2 ** 54 + 3]])
    counts = resample_counts(1, BOOTSTRAP, 50, 2).tolist()
    expected = [row[0] * (2 ** 55 + 1) + row[1] * (2 ** 54 + 3) for row in counts]
    assert resampled_totals(columns, 1, 50)[:, 0].tolist() == expected


@pytest.mark.parametrize("largest", [2 ** 52, 2 ** 52 + 1], ids=["float64", "int64"])
def test_totals_are_exact_on_both_sides_of_the_bound(largest):
    """Two draws of 2^52 are the largest total made in float64; one more is made in int64."""
    columns = np.array([[largest, -largest], [1, 2]])
    expected = [[a * largest + b, 2 * b - a * largest]
                for a, b in resample_counts(1, BOOTSTRAP, 50, 2).tolist()]
    assert resampled_totals(columns, 1, 50).tolist() == expected


def test_both_products_give_the_same_integers(monkeypatch):
    """The product in float64 and the one in int64 are equal, entry by entry."""
    columns = np.random.default_rng(6).integers(-2 ** 40, 2 ** 40, (37, 5))
    fast = resampled_totals(columns, 2, 200)
    monkeypatch.setattr(resampling, "_FLOAT_INTEGERS", 0)
    slow = resampled_totals(columns, 2, 200)
    assert fast.dtype == slow.dtype == np.int64
    assert np.array_equal(fast, slow)


def test_flipped_sums_against_definition():
    """Each flipped sum is the signed sum of its row."""
    contrast = np.linspace(-1, 2, 9)
    signs = sign_matrix(8, SIGN_FLIP, 30, 9)
    expected = [sum(s * z for s, z in zip(row, contrast)) for row in signs.tolist()]
    assert flipped_sums(contrast, 8, 30) == pytest.approx(expected, abs=1e-12)


def test_draws_are_uniform_against_scipy():
    """Every question is drawn equally often, within what chance allows."""
    counts = resample_counts(rule().bootstrap.seed, BOOTSTRAP, 9999, 80).sum(axis=0)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_labels_name_independent_streams():
    """The bootstrap stream and the sign-flip stream of one seed differ."""
    assert words(4, BOOTSTRAP, 8) != words(4, SIGN_FLIP, 8)


def test_the_cached_matrix_cannot_be_changed():
    """The matrix that every judge shares is read-only."""
    with pytest.raises(ValueError, match="read-only"):
        resample_counts(1, BOOTSTRAP, 5, 5)[0, 0] = 9


@pytest.mark.parametrize(("n_resamples", "n_clusters"), [(0, 5), (5, 0)])
@pytest.mark.parametrize("draw", [
    lambda b, q: resample_counts(1, BOOTSTRAP, b, q), lambda b, q: sign_matrix(1, SIGN_FLIP, b, q),
    lambda b, q: resampled_totals(np.zeros((q, 2), dtype=int), 1, b),
    lambda b, q: flipped_sums(np.zeros(q), 1, b)], ids=["counts", "signs", "totals", "flips"])
def test_an_empty_resampling_is_refused(draw, n_resamples, n_clusters):
    """Without a replicate or a question there is nothing to resample."""
    with pytest.raises(InvalidStatistic, match=f"got {n_resamples} and {n_clusters}"):
        draw(n_resamples, n_clusters)


def test_float_columns_are_refused():
    """Sums of floats would not be exact."""
    with pytest.raises(InvalidStatistic, match="must be integers, got float64"):
        resampled_totals(np.zeros((3, 1)), 1, 9)


def test_a_hundred_thousand_questions_fit_in_little_memory():
    """The matrix is never held whole: 400 replicates of 100000 questions take under 200 MB."""
    columns = np.ones((100_000, 4), dtype=np.int64)
    tracemalloc.start()
    totals = resampled_totals(columns, 1, 400)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (totals == 100_000).all()
    assert peak < 200e6
