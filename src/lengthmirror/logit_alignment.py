"""Joins a judge's logits to the units of the study and turns them toward the longer answer."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .errors import InvalidLogits
from .logit_table import LOGIT_COLUMNS, ordering_name, ordering_of
from .pairs import PairTable, Units
from .verdicts import OrderedLogits


def align_logits(units: Units, pairs: PairTable, table: pa.Table, slug: str) -> OrderedLogits:
    """The logits of the units, turned toward the longer answer.

    Args:
        units: n units; only the judged ones (with a non-tie vote) must be in the table.
        pairs: the unit table that the units were selected from.
        table: from ``read_logits``; may hold more units than ``units``.
        slug: the judge, named in every message.

    Returns:
        float64 [n, 2] arrays: column 0 has the longer answer in slot A, column 1 in slot B.
        Rows of units that are not judged are 0.

    Raises:
        InvalidLogits: a row belongs to no unit or to another prompt, or an ordering is missing.
    """
    row_of = _rows_by_ordering(pairs, table, slug)[units.row]
    missing = units.judged[:, None] & (row_of < 0)
    if missing.any():
        unit, ordering = np.argwhere(missing)[0]
        raise InvalidLogits(f"{slug}: no logits for {_ordering(pairs, units.row[unit], ordering)}.")
    longer_is_a = units.longer_is_a.astype(bool)
    by_length = np.where(longer_is_a[:, None], row_of, row_of[:, ::-1])
    values = {name: table[name].to_numpy().astype(np.float64) for name in LOGIT_COLUMNS}

    def column(kind: str, longer: bool) -> np.ndarray:
        in_slot_a = np.array([longer, not longer])
        found = np.where(in_slot_a, values[f"{kind}_a"][by_length], values[f"{kind}_b"][by_length])
        return np.where(units.judged[:, None], found, 0.0)

    return OrderedLogits(
        logit_longer=column("logit", True), logit_shorter=column("logit", False),
        logprob_longer=column("logprob", True), logprob_shorter=column("logprob", False))


def _rows_by_ordering(pairs: PairTable, table: pa.Table, slug: str) -> np.ndarray:
    """int64 [len(pairs), 2]: the row of (model_a in slot A, model_b in slot A), -1 when absent."""
    slot_a, slot_b = (table[name].combine_chunks() for name in ("model_a", "model_b"))
    models = [pa.array(column, type=pa.string()) for column in (pairs.model_a, pairs.model_b)]
    names = pc.unique(pa.chunked_array([*models, slot_a, slot_b]))
    codes = _codes(pairs.question_id, pairs.turn, *models, names)
    by_code = np.argsort(codes)
    row_of = np.full((len(pairs), 2), -1, dtype=np.int64)
    known = np.zeros(table.num_rows, dtype=bool)
    for ordering, slots in enumerate(((slot_a, slot_b), (slot_b, slot_a))):
        wanted = _codes(table["question_id"].to_numpy(), table["turn"].to_numpy(), *slots, names)
        place = np.searchsorted(codes, wanted, sorter=by_code).clip(max=len(pairs) - 1)
        unit = by_code[place]
        rows = np.flatnonzero(codes[unit] == wanted)
        row_of[unit[rows], ordering] = rows
        known[rows] = True
    if not known.all():
        raise InvalidLogits(f"{slug}: the logits of {ordering_of(table, int(np.argmin(known)))} "
                            "belong to no unit of the unit table.")
    _check_prompts(pairs, table, row_of, slug)
    return row_of


def _check_prompts(pairs: PairTable, table: pa.Table, row_of: np.ndarray, slug: str) -> None:
    """Each row was scored on the very prompt that the unit table records for it."""
    registered = np.column_stack([pairs.prompt_sha256_ab, pairs.prompt_sha256_ba])
    found = table["prompt_sha256"].to_numpy()[row_of]
    other = row_of[(row_of >= 0) & (found != registered)]
    if len(other):
        raise InvalidLogits(f"{slug}: the logits of {ordering_of(table, int(other.min()))} belong "
                            "to another prompt template or other answers than the unit table.")


def _codes(question_id: np.ndarray, turn: np.ndarray, first: pa.Array, second: pa.Array,
           names: pa.Array) -> np.ndarray:
    """One integer per row, equal exactly when unit and ordering are equal."""
    turns = np.int64(np.iinfo(np.int8).max) + 1
    code = np.asarray(question_id, dtype=np.int64) * turns + np.asarray(turn, dtype=np.int64)
    for model in (first, second):
        code = code * len(names) + pc.index_in(model, value_set=names).to_numpy()
    return code


def _ordering(pairs: PairTable, row: int, ordering: int) -> str:
    slots = (pairs.model_a[row], pairs.model_b[row])[::-1 if ordering else 1]
    return ordering_name(pairs.question_id[row], pairs.turn[row], *slots)
