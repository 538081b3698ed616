"""The unit table: one row per (question_id, turn, unordered pair of answer models), no text."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .errors import EmptySubset, InvalidUnits
from .files import write_table
from .rule import UnitRule

VOTES = tuple(f"votes_{side}_{kind}" for kind in ("expert", "author")
              for side in ("a", "tie", "b"))
LENGTHS = tuple(f"{measure}_{side}" for measure in
                ("chars", "chars_conversation", "tokens", "tokens_conversation")
                for side in ("a", "b"))
SCHEMA = pa.schema([
    ("question_id", pa.int32()), ("turn", pa.int8()),
    ("model_a", pa.string()), ("model_b", pa.string()),
    *((name, pa.int16()) for name in VOTES), *((name, pa.int32()) for name in LENGTHS),
    ("gpt4_verdict", pa.string()),
    ("prompt_sha256_ab", pa.string()), ("prompt_sha256_ba", pa.string()),
])


class PairTable:
    """Columns of artifacts/pairs.parquet as numpy arrays, one attribute per column.

    Rows are sorted by (question_id, turn, model_a, model_b) with model_a < model_b. Votes count
    annotators, lengths count Unicode code points or tokens; ``prompt_sha256_ab`` is the digest of
    the prompt with model_a in slot A.
    """

    def __init__(self, table: pa.Table):
        for name in SCHEMA.names:
            column = table.column(name)
            setattr(self, name, _strings(column) if pa.types.is_string(column.type)
                    else column.to_numpy().astype(np.int64))
        self._n = table.num_rows

    def __len__(self) -> int:
        return self._n


def read_pairs(path: Path) -> PairTable:
    """Reads artifacts/pairs.parquet.

    Raises:
        InvalidUnits: the file is missing, unreadable, of another schema, unsorted, or has a unit
            twice or an empty cell.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise InvalidUnits(f"{path} does not exist; 'lengthmirror pairs' writes it.") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidUnits(f"{path} cannot be read as parquet: {reason}.") from None
    if not table.schema.equals(SCHEMA):
        raise InvalidUnits(f"{path} has not the columns of a unit table.")
    _check_rows(table, path)
    return PairTable(table)


def _check_rows(table: pa.Table, path: Path) -> None:
    empty = [name for name in table.column_names if table.column(name).null_count]
    if empty:
        raise InvalidUnits(f"{path} has an empty cell in its column {empty[0]}.")
    if not _increasing([table.column(name).combine_chunks() for name in SCHEMA.names[:4]]).all():
        raise InvalidUnits(f"{path} is not sorted by question_id, turn, model_a, model_b, or has "
                           "a unit twice.")
    if not pc.all(pc.less(table.column("model_a"), table.column("model_b")), min_count=0).as_py():
        raise InvalidUnits(f"{path} has a unit whose model_a does not sort before its model_b.")


def _increasing(keys: list[pa.Array]) -> np.ndarray:
    """Whether each row but the first sorts strictly behind the one before it: bool[n - 1]."""
    increasing, tied = False, True
    for key in keys:
        before, behind = key.slice(0, max(len(key) - 1, 0)), key.slice(1)
        increasing |= tied & pc.less(before, behind).to_numpy(zero_copy_only=False)
        tied &= pc.equal(before, behind).to_numpy(zero_copy_only=False)
    return increasing


def _strings(column: pa.ChunkedArray) -> np.ndarray:
    """Python strings, equal ones being one object: a table has few names in many rows."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_numpy(zero_copy_only=False)[encoded.indices.to_numpy()]


def write_pairs(path: Path, rows: list[dict]) -> None:
    """Writes the unit table with deterministic bytes, replacing the file atomically."""
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in SCHEMA.names[:4]))
    write_table(path, pa.Table.from_pylist(ordered, schema=SCHEMA))


@dataclass(frozen=True)
class Units:
    """The units of one specification: above tau, with at least one registered vote.

    All arrays have one entry per unit (n), in the order of the unit table, except ``frame``.

    Attributes:
        row: the unit's row in the PairTable.
        longer_is_a: the longer answer is model_a's.
        length_longer, length_shorter: lengths in the registered unit and scope.
        votes_longer, votes_tie, votes_shorter: annotators preferring the longer answer, neither,
            the shorter one.
        label: +1 in L (humans preferred the longer answer), -1 in S, 0 in neither.
        weight_longer, weight_shorter: how often the unit sits in L and in S.
        judged: at least one vote is not a tie.
        frame: the question ids with a unit, increasing (Q); the resampling frame.
        question_index: the unit's index into ``frame``.
        excluded: how many units each exclusion removed.
    """
    row: np.ndarray
    question_id: np.ndarray
    turn: np.ndarray
    model_a: np.ndarray
    model_b: np.ndarray
    longer_is_a: np.ndarray
    length_longer: np.ndarray
    length_shorter: np.ndarray
    votes_longer: np.ndarray
    votes_tie: np.ndarray
    votes_shorter: np.ndarray
    label: np.ndarray
    weight_longer: np.ndarray
    weight_shorter: np.ndarray
    judged: np.ndarray
    frame: np.ndarray
    question_index: np.ndarray
    excluded: dict[str, int]

    def __len__(self) -> int:
        return len(self.row)

    def subset(self, keep: np.ndarray, reason: str) -> "Units":
        """The units where ``keep`` [n] is true, in the same resampling frame.

        The others are counted in ``excluded`` under ``reason``.
        """
        arrays = {field.name: getattr(self, field.name)[keep] for field in fields(self)
                  if field.name not in ("frame", "excluded")}
        return Units(**arrays, frame=self.frame,
                     excluded={**self.excluded, reason: int(np.count_nonzero(~keep))})


def select_units(pairs: PairTable, rule: UnitRule) -> Units:
    """Applies the registered exclusions and labels (PREREGISTRATION.md section 1).

    Raises:
        InvalidUnits: an empty answer makes the relative difference undefined (metric min).
        EmptySubset: no unit is left where humans preferred the longer, or the shorter, answer.
    """
    length_a, length_b = _lengths(pairs, rule)
    votes = _votes(pairs, rule)
    of_turn, voted = np.isin(pairs.turn, rule.turns), sum(votes) > 0
    equal = length_a == length_b
    above = exceeds(pairs, length_a, length_b, rule)
    keep = of_turn & voted & above
    excluded = {"other_turn": ~of_turn, "no_vote": of_turn & ~voted,
                "equal_length": of_turn & voted & equal,
                "at_or_below_tau": of_turn & voted & ~equal & ~above}
    units = _units(pairs, keep, length_a, length_b, votes, rule,
                   {name: int(np.count_nonzero(mask)) for name, mask in excluded.items()})
    n_longer, n_shorter = int(units.weight_longer.sum()), int(units.weight_shorter.sum())
    if not n_longer or not n_shorter:
        raise EmptySubset(f"at tau {float(rule.tau)} there are {n_longer} units where humans "
                          f"preferred the longer answer and {n_shorter} where they preferred the "
                          "shorter one; both are needed.")
    return units


def scored(rule: UnitRule) -> UnitRule:
    """The specification of the units a judge is run on: ``scoring_tau`` in the place of tau."""
    return replace(rule, tau=rule.scoring_tau)


def exceeds(pairs: PairTable, length_a: np.ndarray, length_b: np.ndarray,
            rule: UnitRule) -> np.ndarray:
    """Relative length difference strictly above tau: bool per row of the table.

    In integers of 64 bits, or of any size where a tau of many digits needs more.
    """
    if rule.length_metric == "min" and (np.minimum(length_a, length_b) == 0).any():
        at = int(np.flatnonzero(np.minimum(length_a, length_b) == 0)[0])
        raise InvalidUnits(
            f"question {pairs.question_id[at]}, turn {pairs.turn[at]}, {pairs.model_a[at]} against "
            f"{pairs.model_b[at]}: an answer is empty, so the length metric 'min' is undefined.")
    difference = np.abs(length_a - length_b)
    if rule.length_metric == "mean":
        difference, base = 2 * difference, length_a + length_b
    elif rule.length_metric == "max":
        base = np.maximum(length_a, length_b)
    else:
        base = np.minimum(length_a, length_b)
    numerator, denominator = rule.tau.numerator, rule.tau.denominator
    longest = 2 * int(max(length_a.max(initial=0), length_b.max(initial=0)))
    if longest * max(numerator, denominator) > np.iinfo(np.int64).max:
        difference, base = difference.astype(object), base.astype(object)
    return (difference * denominator > base * numerator) & (length_a != length_b)


def _lengths(pairs: PairTable, rule: UnitRule) -> tuple[np.ndarray, np.ndarray]:
    scope = "_conversation" if rule.length_scope == "conversation" else ""
    return tuple(getattr(pairs, f"{rule.length_unit}{scope}_{side}") for side in ("a", "b"))


def _votes(pairs: PairTable, rule: UnitRule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kinds = ("expert", "author") if rule.annotators == "all" else (rule.annotators,)
    return tuple(sum(getattr(pairs, f"votes_{side}_{kind}") for kind in kinds)
                 for side in ("a", "tie", "b"))


def labels(longer: np.ndarray, tie: np.ndarray, shorter: np.ndarray, label_rule: str) -> np.ndarray:
    """+1, -1 or 0 per unit from vote counts (PREREGISTRATION.md section 1)."""
    total = longer + tie + shorter
    if label_rule == "net_sign":
        for_longer, for_shorter = longer > shorter, shorter > longer
    elif label_rule == "plurality":
        for_longer = (longer > shorter) & (longer > tie)
        for_shorter = (shorter > longer) & (shorter > tie)
    elif label_rule == "strict_majority":
        for_longer, for_shorter = 2 * longer > total, 2 * shorter > total
    else:
        for_longer, for_shorter = (longer == total) & (total > 0), (shorter == total) & (total > 0)
    return for_longer.astype(np.int8) - for_shorter.astype(np.int8)


def _units(pairs, keep, length_a, length_b, votes, rule, excluded) -> Units:
    votes_a, tie, votes_b = (column[keep] for column in votes)
    length_a, length_b = length_a[keep], length_b[keep]
    longer_is_a = length_a > length_b
    longer = np.where(longer_is_a, votes_a, votes_b)
    shorter = np.where(longer_is_a, votes_b, votes_a)
    label = labels(longer, tie, shorter, rule.label_rule)
    by_vote = rule.unit == "vote"
    frame, question_index = np.unique(pairs.question_id[keep], return_inverse=True)
    return Units(
        row=np.flatnonzero(keep), question_id=pairs.question_id[keep], turn=pairs.turn[keep],
        model_a=pairs.model_a[keep], model_b=pairs.model_b[keep], longer_is_a=longer_is_a,
        length_longer=np.maximum(length_a, length_b), length_shorter=np.minimum(length_a, length_b),
        votes_longer=longer, votes_tie=tie, votes_shorter=shorter, label=label,
        weight_longer=longer if by_vote else (label > 0).astype(np.int64),
        weight_shorter=shorter if by_vote else (label < 0).astype(np.int64),
        judged=longer + shorter > 0, frame=frame, question_index=question_index, excluded=excluded)
