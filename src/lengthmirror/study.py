"""A whole study: the registration and the configuration, read and checked together."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InvalidConfig
from .frozen import file_digests, registration_digest
from .ladder import Ladder, Rung, load_ladder
from .rule import CLASSES, Rule, load_rule
from .toml_reader import Table, read_toml

SCHEMA = 1
SCALE_OUTCOMES = ("UNIFORM", "LOCALISED", "GRADED", "NON_MONOTONE", "UNDETERMINED")


@dataclass(frozen=True)
class Prediction:
    """What the registration expects of one rung or ladder, and why."""
    name: str
    outcome: str
    why: str


@dataclass(frozen=True)
class SplitConfig:
    rows: int
    label_sha256: str
    content_sha256: str


@dataclass(frozen=True)
class DatasetConfig:
    repository: str
    revision: str
    licence: str
    source: str
    splits: dict[str, SplitConfig]


@dataclass(frozen=True)
class Study:
    """Everything registered, with the digest that names it."""
    rule: Rule
    sensitivity: dict[str, Rule]
    rungs: dict[str, Rung]
    ladders: dict[str, Ladder]
    dataset: DatasetConfig
    predictions: dict[str, Prediction]
    scale_predictions: dict[str, Prediction]
    templates: dict[str, Any]
    digests: dict[str, str]
    registration_dir: Path
    config_dir: Path

    @property
    def digest(self) -> str:
        """The registration digest (see ``frozen.registration_digest``)."""
        return registration_digest(self.digests)

    @property
    def templates_sha256(self) -> str:
        return self.digests["preregistration/prompt_templates.json"]


def load_study(registration_dir: Path, config_dir: Path) -> Study:
    """Reads preregistration/ and config/.

    Raises:
        InvalidConfig: any of the files is missing, malformed or contradicts another.
    """
    registration_dir, config_dir = Path(registration_dir), Path(config_dir)
    digests = file_digests(registration_dir, config_dir)
    rule, sensitivity = load_rule(registration_dir / "decision_rule.toml")
    rungs, ladders = load_ladder(config_dir / "ladder.toml")
    if rule.units.tokenizer not in rungs:
        raise InvalidConfig(f"{registration_dir / 'decision_rule.toml'}: length.tokenizer names "
                            f"the unknown rung {rule.units.tokenizer!r}.")
    predictions, scale_predictions = _predictions(registration_dir / "predictions.toml",
                                                  rungs, ladders)
    return Study(rule, sensitivity, rungs, ladders, _dataset(config_dir / "dataset.toml"),
                 predictions, scale_predictions,
                 _templates(registration_dir / "prompt_templates.json"),
                 digests, registration_dir, config_dir)


def _predictions(path: Path, rungs: dict, ladders: dict) -> tuple[dict, dict]:
    top = Table(read_toml(path), str(path))
    if top.take("schema", int) != SCHEMA:
        raise InvalidConfig(f"{path}: expected schema {SCHEMA}.")
    judges = _named(top, "prediction", "rung", "class", CLASSES, rungs)
    scales = _named(top, "scale_prediction", "ladder", "outcome", SCALE_OUTCOMES, ladders)
    top.done()
    return judges, scales


def _named(top: Table, key: str, name_key: str, outcome_key: str, allowed: tuple[str, ...],
           known: dict) -> dict[str, Prediction]:
    result = {}
    for entry in top.tables(key):
        prediction = Prediction(entry.take(name_key, str), entry.choice(outcome_key, allowed),
                                entry.take("why", str))
        entry.done()
        if prediction.name not in known or prediction.name in result:
            raise InvalidConfig(f"{top.where}: the {name_key} {prediction.name!r} is unknown or "
                                "listed twice.")
        result[prediction.name] = prediction
    missing = [name for name in known if name not in result]
    if missing:
        raise InvalidConfig(f"{top.where}: there is no registered [[{key}]] for {missing[0]!r}.")
    return result


def _dataset(path: Path) -> DatasetConfig:
    top = Table(read_toml(path), str(path))
    if top.take("schema", int) != SCHEMA:
        raise InvalidConfig(f"{path}: expected schema {SCHEMA}.")
    table = top.table("split")
    splits = {}
    for name in ("human", "gpt4_pair"):
        entry = table.table(name)
        splits[name] = SplitConfig(entry.take("rows", int), entry.take("label_sha256", str),
                                   entry.take("content_sha256", str))
        entry.done()
    config = DatasetConfig(*(top.take(key, str) for key in
                             ("repository", "revision", "licence", "source")), splits)
    table.done()
    top.done()
    return config


def _templates(path: Path) -> dict[str, Any]:
    try:
        templates = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path} is not valid JSON: {error}.") from None
    missing = {"turn_1", "turn_2", "chat", "plain"} - set(templates)
    if missing:
        raise InvalidConfig(f"{path}: the template {sorted(missing)[0]!r} is missing.")
    return templates
