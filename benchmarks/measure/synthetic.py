"""A study of any size with random votes and a random judge: no text, columns only."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from lengthmirror.files import write_table
from lengthmirror.logit_table import LOGITS_SCHEMA, write_logits
from lengthmirror.pairs import LENGTHS, SCHEMA, VOTES, PairTable, Units
from lengthmirror.planted import planted_columns

UNITS_PER_QUESTION = 10
MODELS = np.array([f"model-{number}" for number in range(5)])
FIRST, SECOND = np.triu_indices(len(MODELS), 1)  # ten pairs of five answer models
MOST_VOTES = 4


def unit_table(n_questions: int, seed: int) -> pa.Table:
    """Ten units for each question in the columns of ``pairs.SCHEMA``, sorted.

    Lengths differ by a factor of two or more, so that every unit is above any registered tau. Each
    unit has one expert vote or more, and humans prefer the longer answer more often.
    """
    random, n = np.random.default_rng(seed), n_questions * UNITS_PER_QUESTION
    length = _lengths(random, n)
    columns = {"question_id": np.repeat(np.arange(n_questions), UNITS_PER_QUESTION),
               "turn": np.ones(n, dtype=int), **length, **dict.fromkeys(VOTES, np.zeros(n, int)),
               "model_a": np.tile(MODELS[FIRST], n_questions),
               "model_b": np.tile(MODELS[SECOND], n_questions),
               "gpt4_verdict": np.full(n, "tie")}
    columns |= _votes(random, length["tokens_a"] > length["tokens_b"])
    digests = np.char.add("synthetic-", np.arange(n).astype(str))
    columns |= {"prompt_sha256_ab": digests, "prompt_sha256_ba": digests}
    return pa.Table.from_arrays([pa.array(columns[field.name], type=field.type)
                                 for field in SCHEMA], schema=SCHEMA)


def _lengths(random: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    shorter, factor, a_longer = (random.integers(low, high, n)
                                 for low, high in ((50, 900), (2, 5), (0, 2)))
    sides = {"a": np.where(a_longer, shorter * factor, shorter),
             "b": np.where(a_longer, shorter, shorter * factor)}
    return {name: sides[name[-1]] for name in LENGTHS}


def _votes(random: np.random.Generator, longer_is_a: np.ndarray) -> dict[str, np.ndarray]:
    total = random.integers(1, MOST_VOTES + 1, len(longer_is_a))
    lean = random.choice([0.15, 0.95], len(longer_is_a), p=[0.25, 0.75])  # humans agree in part
    ties = random.binomial(total, 0.1)
    longer = random.binomial(total - ties, lean)
    shorter = total - ties - longer
    return {"votes_a_expert": np.where(longer_is_a, longer, shorter),
            "votes_tie_expert": ties,
            "votes_b_expert": np.where(longer_is_a, shorter, longer)}


def margins(units: Units, seed: int) -> np.ndarray:
    """float64[n, 2]: a judge that leans to longer answers whatever humans say."""
    return np.random.default_rng(seed).normal(0.4, 1.0, (len(units), 2))


def write_study(folder: Path, n_questions: int, select, seed: int) -> None:
    """``pairs.parquet`` and ``logits.parquet`` in the folder.

    Args:
        folder: exists.
        n_questions: of ten units each.
        select: from a PairTable to the units a judge is run on.
        seed: of votes, lengths and judge.
    """
    table = unit_table(n_questions, seed)
    write_table(folder / "pairs.parquet", table)
    pairs = PairTable(table)
    units = select(pairs)
    columns = planted_columns(pairs, units, margins(units, seed))
    write_logits(folder / "logits.parquet", {name: columns[name] for name in LOGITS_SCHEMA.names})
