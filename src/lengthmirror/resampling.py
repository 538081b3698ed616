"""The registered random stream: bootstrap resample counts and sign flips, stable to the bit.

numpy guarantees Philox's raw integers across releases, unlike the streams of ``Generator``, so
every draw is made from the raw integers (PREREGISTRATION.md section 4).
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256

import numpy as np

from .errors import InvalidStatistic

BOOTSTRAP = "bootstrap"
SIGN_FLIP = "signflip"

_CHUNK_CELLS = 1 << 21    # cells of one block of rows, which bounds the memory of a product
_SLAB_CELLS = 1 << 16     # cells counted at a time, which stay in a processor's cache
_CACHED_CELLS = 1 << 24   # a matrix of more cells than this is drawn again at each use
_FLOAT_INTEGERS = 1 << 53  # float64 holds every integer up to this

Draw = Callable[[np.ndarray], np.ndarray]  # uint32[rows, Q] words to int32[rows, Q]


def resample_counts(seed: int, label: str, n_resamples: int, n_clusters: int) -> np.ndarray:
    """How often each cluster is drawn in each replicate of the cluster bootstrap.

    Args:
        seed: registered seed.
        label: name of the stream; different labels give independent streams.
        n_resamples: B, number of replicates.
        n_clusters: Q, number of clusters (questions of the resampling frame).

    Returns:
        int32[B, Q], rows summing to Q; read-only.

    Raises:
        InvalidStatistic: B or Q is below 1.
    """
    return _whole(seed, label, n_resamples, n_clusters, _counts)


def sign_matrix(seed: int, label: str, n_resamples: int, n_clusters: int) -> np.ndarray:
    """Random signs of the sign-flip test, int32[P, Q] of -1 and 1; read-only.

    Raises:
        InvalidStatistic: P or Q is below 1.
    """
    return _whole(seed, label, n_resamples, n_clusters, _signs)


def resampled_totals(columns: np.ndarray, seed: int, n_resamples: int) -> np.ndarray:
    """Column totals of every bootstrap replicate, an exact integer matrix product.

    While no partial sum can leave the integers that float64 holds, the product is made in float64:
    exact in any order of summation, and many times faster than numpy's product of integers.

    Args:
        columns: int64[Q, k], one row per question of the frame.
        seed: registered seed.
        n_resamples: B.

    Returns:
        int64[B, k].

    Raises:
        InvalidStatistic: the columns are not integers, or B or Q is below 1.
    """
    if columns.dtype.kind != "i":
        raise InvalidStatistic(f"resampled columns must be integers, got {columns.dtype}.")
    columns = columns.astype(_exact_type(columns), copy=False)
    blocks = _blocks(seed, BOOTSTRAP, n_resamples, columns.shape[0], _counts)
    return np.concatenate([(block.astype(columns.dtype) @ columns).astype(np.int64, copy=False)
                           for block in blocks])


def flipped_sums(contrast: np.ndarray, seed: int, n_resamples: int) -> np.ndarray:
    """Sum of a per-question contrast under each row of random signs, without BLAS.

    Args:
        contrast: float64[Q].
        seed: registered seed.
        n_resamples: P.

    Returns:
        float64[P].

    Raises:
        InvalidStatistic: P or Q is below 1.
    """
    blocks = _blocks(seed, SIGN_FLIP, n_resamples, len(contrast), _signs)
    return np.concatenate([(block * contrast).sum(axis=1) for block in blocks])


def _exact_type(columns: np.ndarray) -> type:
    """float64 where Q draws of the largest entry stay within its integers, else int64."""
    largest = max(int(columns.max(initial=0)), -int(columns.min(initial=0)))
    return np.float64 if largest * len(columns) <= _FLOAT_INTEGERS else np.int64


def _counts(words: np.ndarray) -> np.ndarray:
    rows, n_clusters = words.shape
    counts = np.empty(words.shape, dtype=np.int32)
    step = max(_SLAB_CELLS // n_clusters, 1)
    first_cells = np.arange(step)[:, np.newaxis] * n_clusters
    for start in range(0, rows, step):
        cells = words[start:start + step].astype(np.int64)
        cells *= n_clusters
        cells >>= 32
        cells += first_cells[:len(cells)]
        slab = np.bincount(cells.ravel(), minlength=cells.size)
        counts[start:start + step] = slab.reshape(cells.shape)
    return counts


def _signs(words: np.ndarray) -> np.ndarray:
    return 1 - 2 * (words & 1).astype(np.int32)


def _blocks(seed: int, label: str, n_resamples: int, n_clusters: int,
            draw: Draw) -> Iterator[np.ndarray]:
    """Consecutive rows of the matrix, from the cache where the whole matrix is small."""
    if n_resamples * n_clusters > _CACHED_CELLS:
        return _drawn(seed, label, n_resamples, n_clusters, draw)
    matrix = _whole(seed, label, n_resamples, n_clusters, draw)
    step = _rows_per_block(n_clusters)
    return (matrix[start:start + step] for start in range(0, n_resamples, step))


@lru_cache(maxsize=4)
def _whole(seed: int, label: str, n_resamples: int, n_clusters: int, draw: Draw) -> np.ndarray:
    matrix = np.concatenate(list(_drawn(seed, label, n_resamples, n_clusters, draw)))
    matrix.setflags(write=False)
    return matrix


def _drawn(seed: int, label: str, n_resamples: int, n_clusters: int,
           draw: Draw) -> Iterator[np.ndarray]:
    if n_resamples < 1 or n_clusters < 1:
        raise InvalidStatistic("resampling needs at least one replicate and one question, got "
                               f"{n_resamples} and {n_clusters}.")
    key = sha256(f"{seed}|{label}".encode()).digest()[:16]
    stream = np.random.Philox(key=int.from_bytes(key, "little"), counter=0)
    step = _rows_per_block(n_clusters)
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        raw = stream.random_raw((rows * n_clusters + 1) // 2)
        words = raw.astype("<u8", copy=False).view("<u4")  # low half first, then high
        yield draw(words[:rows * n_clusters].reshape(rows, n_clusters))


def _rows_per_block(n_clusters: int) -> int:
    """An even number, so that no 64-bit word is split between two blocks."""
    return max(_CHUNK_CELLS // n_clusters // 2 * 2, 2)
