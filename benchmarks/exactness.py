"""How far the logits of one path are from those of the other, as a row of a table.

``python benchmarks/exactness.py RUNG FOLDER REFERENCE``: both are output folders of
``lengthmirror score``, the second made with ``--no-prefix-sharing``; orderings of the first that
the second has not are left out.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lengthmirror.logit_table import KEY, LOGIT_COLUMNS
from lengthmirror.rescoring import compare

LONG = 1500  # tokens
HEAD = ("rung", "prompts", f"over {LONG} tokens", "largest logit difference", "of those",
        "verdict changes", "smallest margin", "prompts a difference that large could change")


def main(slug: str, folder: str, reference: str) -> None:
    shared, scratch = (pq.read_table(Path(place) / slug / "logits.parquet")
                       for place in (folder, reference))
    shared = common(shared, scratch)
    found = compare(scratch, shared, slug, 0)
    long = shared["n_tokens"].to_numpy() > LONG
    differences = np.abs(options(common(scratch, shared)) - options(shared)).max(axis=1)
    margin = np.abs(np.subtract(*options(shared).T)).min()
    cells = (slug, str(shared.num_rows), str(long.sum()), f"{found.largest_difference:.2e}",
             f"{differences[long].max():.2e}" if long.any() else "-", str(found.verdict_changes),
             f"{margin:.3f}", str(len(found.close)))
    for row in (HEAD, ("---",) * len(HEAD), cells):
        print(f"| {' | '.join(row)} |")


def common(table: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of a table whose ordering the other has, in order of the ordering."""
    keys, known = orderings(table), set(orderings(other))
    rows = sorted((key, at) for at, key in enumerate(keys) if key in known)
    return table.take([at for _, at in rows])


def orderings(table: pa.Table) -> list[tuple]:
    return list(zip(*(table[name].to_pylist() for name in KEY)))


def options(table: pa.Table) -> np.ndarray:
    """The two option logits: float64[n, 2]."""
    return np.column_stack([table[name].to_numpy() for name in LOGIT_COLUMNS[:2]]).astype(float)


if __name__ == "__main__":
    main(*sys.argv[1:])
