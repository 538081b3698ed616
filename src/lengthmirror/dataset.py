"""MT-Bench human judgments and GPT-4's published pair verdicts, checked on every load."""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from .errors import InvalidDataset
from .study import DatasetConfig, SplitConfig

COLUMNS = ("question_id", "model_a", "model_b", "winner", "judge", "conversation_a",
           "conversation_b", "turn")
TEXT_COLUMNS = ("conversation_a", "conversation_b")
WINNERS = ("model_a", "model_b", "tie", "tie (inconsistent)")
ENVIRONMENT_VARIABLE = "LENGTHMIRROR_DATA"


class TextDiffers(UserWarning):
    """The labels are the registered ones, the conversations are not."""


@dataclass(frozen=True)
class Judgments:
    """Both splits as rows, and whether each split's whole content is the registered one.

    Rows are dicts with the columns of the published dataset; a conversation is a list of four
    messages (question, answer, follow-up question, answer).
    """
    human: list[dict]
    gpt4_pair: list[dict]
    content_matches: dict[str, bool]

    def conversations(self) -> dict[tuple[int, str], list[str]]:
        """The four message texts by (question_id, model).

        Raises:
            InvalidDataset: one model has two different conversations on one question.
        """
        texts: dict[tuple[int, str], list[str]] = {}
        for row in (*self.human, *self.gpt4_pair):
            for side in ("a", "b"):
                key = row["question_id"], row[f"model_{side}"]
                content = [message["content"] for message in row[f"conversation_{side}"]]
                if texts.setdefault(key, content) != content or len(content) != 4:
                    raise InvalidDataset(f"question {key[0]}: the conversation of {key[1]} is not "
                                         "one conversation of four messages.")
        return texts


def load_judgments(config: DatasetConfig, folder: Path | None) -> Judgments:
    """Reads both splits from a local folder, or from the hub at the pinned revision.

    Args:
        config: repository, revision and digests.
        folder: a folder with ``human*.parquet`` and ``gpt4_pair*.parquet`` anywhere below it, or
            None for the hub.

    Raises:
        InvalidDataset: a split is missing, or its rows or labels are not the registered ones.

    Warns:
        TextDiffers: a split's labels are right and its conversations differ.
    """
    splits, matches = {}, {}
    for name, expected in config.splits.items():
        rows = _from_folder(folder, name) if folder else _from_hub(config, name)
        matches[name] = check_split(name, rows, expected)
        splits[name] = rows
    return Judgments(splits["human"], splits["gpt4_pair"], matches)


def check_split(name: str, rows: list[dict], expected: SplitConfig) -> bool:
    """True when the whole content is the registered one; the labels must be.

    Raises:
        InvalidDataset: another number of rows, an unknown winner, or other labels.
    """
    for row in rows:
        if row["winner"] not in WINNERS:
            raise InvalidDataset(f"the {name} split has the unknown winner {row['winner']!r} at "
                                 f"question {row['question_id']}, expected one of {WINNERS}.")
    if len(rows) != expected.rows:
        raise InvalidDataset(f"the {name} split has {len(rows)} rows, expected {expected.rows}.")
    labels = digest({key: value for key, value in row.items() if key not in TEXT_COLUMNS}
                    for row in rows)
    if labels != expected.label_sha256:
        raise InvalidDataset(f"the labels of the {name} split have sha256 {labels}, "
                             f"expected {expected.label_sha256}.")
    content = digest(rows)
    if content != expected.content_sha256:
        warnings.warn(f"the conversations of the {name} split differ from the registered ones "
                      f"(sha256 {content}, expected {expected.content_sha256}).",
                      TextDiffers, stacklevel=3)
    return content == expected.content_sha256


def digest(rows: Iterable[dict]) -> str:
    """Order-independent sha256 of rows, as config/dataset.toml defines it."""
    lines = sorted(json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
                   for row in rows)
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def _from_folder(folder: Path, name: str) -> list[dict]:
    files = sorted(Path(folder).rglob(f"{name}*.parquet"))
    if not files:
        raise InvalidDataset(f"there is no {name}*.parquet below {folder}.")
    rows = []
    for path in files:
        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise InvalidDataset(f"{path} cannot be read as parquet: {reason}.") from None
        rows += _rows(table, path)
    return rows


def _from_hub(config: DatasetConfig, name: str) -> list[dict]:
    try:
        import datasets
    except ImportError:
        raise InvalidDataset(
            "reading the dataset from the hub needs the extra 'score' (pip install "
            "'lengthmirror[score]'); a local folder of parquet files needs nothing.") from None
    try:
        split = datasets.load_dataset(config.repository, revision=config.revision, split=name)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise InvalidDataset(
            f"{config.repository} at {config.revision} cannot be loaded from the hub "
            f"({type(error).__name__}); give a local folder with --data or "
            f"{ENVIRONMENT_VARIABLE}.") from None
    return _rows(split.data.table, config.repository)


def _rows(table, where) -> list[dict]:
    missing = [column for column in COLUMNS if column not in table.column_names]
    if missing:
        raise InvalidDataset(f"{where} has no column '{missing[0]}'.")
    return table.select(list(COLUMNS)).to_pylist()
