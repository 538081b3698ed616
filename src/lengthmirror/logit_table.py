"""The logits of one judge: artifacts/<slug>/logits.parquet, one row per ordering of a unit.

``model_a`` is the answer in slot A and ``model_b`` the one in slot B, so a unit has two rows.
Nothing here loads a model: scoring writes the table and the ladder reads it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import InvalidLogits
from .files import write_table

KEY = ("question_id", "turn", "model_a", "model_b")
LOGIT_COLUMNS = ("logit_a", "logit_b", "logprob_a", "logprob_b")
ROUNDING = 2.0 ** -18  # of values stored as float32, with room
LOGITS_SCHEMA = pa.schema([
    pa.field("question_id", pa.int32(), nullable=False),
    pa.field("turn", pa.int8(), nullable=False),
    pa.field("model_a", pa.string(), nullable=False),
    pa.field("model_b", pa.string(), nullable=False),
    pa.field("n_tokens", pa.int32(), nullable=False),
    *[pa.field(name, pa.float32(), nullable=False) for name in LOGIT_COLUMNS],
    pa.field("argmax_token", pa.int32(), nullable=False),
    pa.field("prompt_sha256", pa.string(), nullable=False),
])


def write_logits(path: Path, columns: Mapping[str, Any]) -> None:
    """Writes the rows sorted by unit and ordering: the same rows in any order give the same bytes.

    Args:
        path: artifacts/<slug>/logits.parquet, replaced atomically; its folder names the judge.
        columns: every column of LOGITS_SCHEMA, as arrays or lists of one length.

    Raises:
        InvalidLogits: an ordering occurs twice, or a logit is not finite; nothing is written.
    """
    write_table(path, logits_table(columns, Path(path).parent.name))


def logits_table(columns: Mapping[str, Any], slug: str) -> pa.Table:
    """The rows as a checked table, sorted by unit and ordering.

    Raises:
        InvalidLogits: an ordering occurs twice, or a logit is not finite.
    """
    arrays = [pa.array(columns[field.name], type=field.type) for field in LOGITS_SCHEMA]
    table = pa.Table.from_arrays(arrays, schema=LOGITS_SCHEMA)
    table = table.sort_by([(name, "ascending") for name in KEY]).combine_chunks()
    _check_rows(table, slug)
    return table


def read_logits(path: Path, slug: str) -> pa.Table:
    """The table of one judge, with every row checked.

    Args:
        path: the parquet file.
        slug: the judge, named in every message.

    Raises:
        InvalidLogits: the file is not parquet, its columns are not LOGITS_SCHEMA, an ordering
            occurs twice, or a logit is not finite.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidLogits(f"{slug}: {path} cannot be read as a logits table: {reason}.") from None
    _check_columns(table.schema, slug)
    _check_rows(table, slug)
    _check_values(table, slug)
    return table


def _check_columns(schema: pa.Schema, slug: str) -> None:
    for field in LOGITS_SCHEMA:
        found = schema.field(field.name).type if field.name in schema.names else None
        if found != field.type:
            got = "no such column" if found is None else found
            raise InvalidLogits(f"{slug}: the logits table needs a column '{field.name}' "
                                f"of type {field.type}, got {got}.")
    extra = sorted(set(schema.names) - set(LOGITS_SCHEMA.names))
    if extra or len(schema.names) != len(LOGITS_SCHEMA.names):
        raise InvalidLogits(f"{slug}: the logits table has an unknown or repeated column "
                            f"'{(extra or schema.names)[0]}'.")


def _check_rows(table: pa.Table, slug: str) -> None:
    if table.num_rows == 0:
        raise InvalidLogits(f"{slug}: the logits table has no rows.")
    for name in LOGITS_SCHEMA.names:
        if table[name].null_count:
            raise InvalidLogits(f"{slug}: column '{name}' of the logits table has empty cells.")
    order = table.select(list(KEY)).sort_by([(name, "ascending") for name in KEY])
    repeated = np.ones(max(order.num_rows - 1, 0), dtype=bool)
    for name in KEY:
        values = order[name].to_numpy()
        repeated &= values[1:] == values[:-1]
    if repeated.any():
        raise InvalidLogits(f"{slug}: the logits of {ordering_of(order, int(np.argmax(repeated)))} "
                            "occur twice.")
    for name in LOGIT_COLUMNS:
        bad = ~np.isfinite(table[name].to_numpy())
        if bad.any():
            at = int(np.argmax(bad))
            raise InvalidLogits(f"{slug}: {name} of {ordering_of(table, at)} must be finite, "
                                f"got {table[name][at].as_py()}.")


def _check_values(table: pa.Table, slug: str) -> None:
    """What no model can give: no tokens, a probability above 1, logits that contradict it."""
    values = {name: table[name].to_numpy().astype(np.float64) for name in LOGIT_COLUMNS}
    logit_a, logit_b, logprob_a, logprob_b = values.values()
    mass = np.exp(np.minimum(logprob_a, 1)) + np.exp(np.minimum(logprob_b, 1))
    contradiction = np.abs((logit_a - logit_b) - (logprob_a - logprob_b))
    for bad, fault in ((table["n_tokens"].to_numpy() < 1, "has no tokens"),
                       (mass > 1 + ROUNDING, "gives the two options a probability above 1"),
                       (contradiction > ROUNDING * (1 + np.abs(logit_a) + np.abs(logit_b)),
                        "has logits that contradict its log-probabilities")):
        if bad.any():
            raise InvalidLogits(f"{slug}: {ordering_of(table, int(np.argmax(bad)))} {fault}.")


def summary(table: pa.Table) -> str:
    """What a table shows of a judge before any label is looked at, in one line."""
    logit_a, logit_b, logprob_a, logprob_b = (table[name].to_numpy() for name in LOGIT_COLUMNS)
    mass = np.exp(logprob_a) + np.exp(logprob_b)
    return (f"mean option mass {mass.mean():.3f}, slot A in {np.mean(logit_a > logit_b):.3f} of "
            f"{table.num_rows} orderings, {np.count_nonzero(logit_a == logit_b)} exact ties")


def ordering_of(table: pa.Table, row: int) -> str:
    """One row of a logits table, in words."""
    return ordering_name(*(table[name][row].as_py() for name in KEY))


def ordering_name(question_id: int, turn: int, slot_a: str, slot_b: str) -> str:
    """One ordering of a unit, in words."""
    return f"question {question_id}, turn {turn}, {slot_a} in slot A and {slot_b} in slot B"
