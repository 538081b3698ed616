"""Planted judges: verdicts with a known answer, written as a logits table like a real judge's.

A planted judge is a function of the units that gives, per ordering, a margin toward the longer
answer (above 0 picks it, below 0 the shorter one, 0 is an exact tie). PREREGISTRATION.md section 7
says which class each must get. Random ones draw from a hash of the seed and the unit's lengths,
so that neither row order nor the names of the answers can move a verdict.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .frozen import sha256_file
from .logit_table import write_logits
from .manifest import NAME, registered_settings, update_manifest
from .pairs import PairTable, Units, scored, select_units
from .study import Study

Margins = Callable[[PairTable, Units], np.ndarray]
GPT4_TIES = ("tie", "tie (inconsistent)")


def always_longer(pairs: PairTable, units: Units) -> np.ndarray:
    """Length only: picks the longer answer in both orderings; float64 [n, 2] margins."""
    return np.ones((len(units), 2))


def always_shorter(pairs: PairTable, units: Units) -> np.ndarray:
    """Brevity only."""
    return -always_longer(pairs, units)


def always_slot_a(pairs: PairTable, units: Units) -> np.ndarray:
    """Position only: column 0 has the longer answer in slot A."""
    return np.tile([1.0, -1.0], (len(units), 1))


def human_copy(pairs: PairTable, units: Units) -> np.ndarray:
    """The human label itself; circular, since the votes it copies are the yardstick."""
    return np.repeat(units.label.astype(float)[:, None], 2, axis=1)


def anti_human(pairs: PairTable, units: Units) -> np.ndarray:
    """The opposite of the human label."""
    return -human_copy(pairs, units)


def gpt4(pairs: PairTable, units: Units) -> np.ndarray:
    """GPT-4's published verdict as if it were a judge's own."""
    verdict = pairs.gpt4_verdict[units.row]
    longer = np.where(units.longer_is_a, "model_a", "model_b")
    margin = np.where(verdict == longer, 1.0, -1.0)
    return np.repeat(np.where(np.isin(verdict, GPT4_TIES), 0.0, margin)[:, None], 2, axis=1)


def noisy_length(share: float, seed: int) -> Margins:
    """Picks the longer answer with one probability ``share``, whatever the two lengths."""
    def margins(pairs: PairTable, units: Units) -> np.ndarray:
        return np.where(_draws(units, seed, "noisy length") < share, 1.0, -1.0)
    return margins


def graded_length(slope: float, seed: int) -> Margins:
    """Picks the longer answer with log odds ``slope * |log length ratio|``."""
    def margins(pairs: PairTable, units: Units) -> np.ndarray:
        log_ratio = np.log((units.length_longer + 1) / (units.length_shorter + 1))
        chance = 1 / (1 + np.exp(-slope * log_ratio))
        return np.where(_draws(units, seed, "graded length") < chance[:, None], 1.0, -1.0)
    return margins


def mixture(first: Margins, second: Margins, share: float, seed: int) -> Margins:
    """Judges a whole unit like ``first`` with probability ``share``, else like ``second``."""
    def margins(pairs: PairTable, units: Units) -> np.ndarray:
        from_first = _draws(units, seed, "mixture")[:, :1] < share
        return np.where(from_first, first(pairs, units), second(pairs, units))
    return margins


def biased_to_slot_a(judge: Margins, bias: float) -> Margins:
    """Adds a constant margin toward slot A, which hides the judge when it is above its margins."""
    def margins(pairs: PairTable, units: Units) -> np.ndarray:
        return judge(pairs, units) + bias * always_slot_a(pairs, units)
    return margins


def plant(artifacts: Path, study: Study, pairs: PairTable, slug: str, margins: Margins) -> Path:
    """Writes the logits and the manifest entry of a planted judge in the place of a rung.

    Args:
        artifacts: a folder for the tables, never the project's own.
        study: registers the rung, the units to score and what the entry must repeat.
        pairs: the unit table.
        slug: the rung whose place it takes.
        margins: the planted judge.

    Returns:
        The path of the logits table.
    """
    rung, path = study.rungs[slug], Path(artifacts) / slug / "logits.parquet"
    units = select_units(pairs, scored(study.rule.units))
    write_logits(path, planted_columns(pairs, units, margins(pairs, units)))
    entry = {"planted": True, "table_sha256": sha256_file(path), "weights": rung.weights.identity,
             "templates_sha256": study.templates_sha256, "registration_digest": study.digest,
             **registered_settings(rung)}
    update_manifest(Path(artifacts) / NAME, "rungs", slug, entry)
    return path


def planted_columns(pairs: PairTable, units: Units, margins: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of a logits table: two rows per judged unit, all mass on the two options.

    Args:
        pairs: the unit table.
        units: n units; those without a non-tie vote get no row, as with a real judge.
        margins: float64 [n, 2] toward the longer answer, column 0 with it in slot A.
    """
    longer_is_a, judged = units.longer_is_a.astype(bool), units.judged.astype(bool)
    a_first = np.where(longer_is_a, margins[:, 0], -margins[:, 1])[judged]
    b_first = np.where(longer_is_a, -margins[:, 1], margins[:, 0])[judged]
    slot_a, row = np.concatenate([a_first, b_first]), np.tile(units.row[judged], 2)
    n = len(a_first)
    forward, names = np.arange(2 * n) < n, (pairs.model_a[row], pairs.model_b[row])
    prompts = pairs.prompt_sha256_ab[row], pairs.prompt_sha256_ba[row]
    return {
        "question_id": pairs.question_id[row], "turn": pairs.turn[row],
        "model_a": np.where(forward, *names), "model_b": np.where(forward, *names[::-1]),
        "n_tokens": np.ones(2 * n, dtype=np.int64), "logit_a": slot_a, "logit_b": np.zeros(2 * n),
        "logprob_a": -np.logaddexp(0, -slot_a), "logprob_b": -np.logaddexp(0, slot_a),
        "argmax_token": (slot_a < 0).astype(np.int64),
        "prompt_sha256": np.where(forward, *prompts),
    }


def _draws(units: Units, seed: int, stream: str) -> np.ndarray:
    """Uniform numbers in [0, 1) by unit and ordering: float64 [n, 2]."""
    keys = zip(units.question_id, units.turn, units.length_longer, units.length_shorter)
    return np.array([[_uniform(f"{seed}|{stream}|{question}|{turn}|{longer}|{shorter}|{slot}")
                      for slot in "AB"] for question, turn, longer, shorter in keys])


def _uniform(text: str) -> float:
    """The first 53 bits of a sha256, as a number in [0, 1)."""
    return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 11) / (1 << 53)
