"""A whole scoring job: study, data, weights and judge in; logits table and manifest entry out."""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from .dataset import Judgments, load_judgments
from .encoding import plain_ids
from .environment import package_versions, processor
from .errors import InvalidConfig, InvalidLogits
from .frozen import sha256_file
from .judge import Judge, load_tokenizer, tokenizer_digest
from .ladder import SHARED_PREFIX, Rung, find_rung
from .logit_table import logits_table, read_logits, write_logits
from .manifest import (
    NAME,
    read_manifest,
    registered_settings,
    unit_table_entry,
    update_manifest,
)
from .pairs import read_pairs, write_pairs
from .rescoring import Comparison, compare, sample_units
from .scoring import ENGINE, ScoringRun, judge_key, score_groups
from .scoring_plan import Group, Unit, make_groups, scoring_units
from .study import Study
from .unit_builder import unit_rows
from .weights import locate_weights


@dataclass(frozen=True)
class Places:
    """Folders of one job; ``data`` None means the hub."""
    artifacts: Path
    weights: Path
    data: Path | None


def build_pairs(study: Study, places: Places) -> int:
    """Writes artifacts/pairs.parquet and its manifest entry; returns the number of units."""
    read_manifest(places.artifacts / NAME)
    judgments = load_judgments(study.dataset, places.data)
    rung = find_rung(study.rungs, study.rule.units.tokenizer)
    tokenizer = load_tokenizer(rung, locate_weights(rung, places.weights, fetch=True))
    rows = unit_rows(judgments, study.templates, lambda text: len(plain_ids(tokenizer, text)))
    path = places.artifacts / "pairs.parquet"
    write_pairs(path, rows)
    update_manifest(places.artifacts / NAME, "pairs", "unit_table", unit_table_entry(
        study, path, len(rows), judgments.content_matches, tokenizer_digest(tokenizer)))
    return len(rows)


def score_rung(study: Study, rung: Rung, places: Places, output: Path, work: Path, n_workers: int,
               limit_units: int | None) -> Path:
    """Scores a rung and writes ``<output>/<slug>/logits.parquet`` with its manifest entry.

    Raises:
        InvalidWeights, InvalidJudge, InvalidUnits, ScoringFailed: nothing is written; groups
            finished before are kept in ``work``.
    """
    started = time.perf_counter()
    read_manifest(output / NAME)  # a broken one is known before the work, not after it
    for folder in (output, work):
        folder.mkdir(parents=True, exist_ok=True)
    groups, judgments = plan(study, places, limit_units)
    judge = Judge(rung, locate_weights(rung, places.weights, fetch=True), study.templates)
    environment = {"versions": package_versions(), "cpu": processor()}
    key = judge_key(judge, study.templates_sha256, environment)
    with _Bar(rung.slug, sum(len(group.prompts) for group in groups)) as bar:
        run = score_groups(judge, groups, key, work, n_workers, bar.update)
    path = output / rung.slug / "logits.parquet"
    write_logits(path, run.columns)
    update_manifest(output / NAME, "rungs", rung.slug, {
        **_entry(study, judge, run, path, judgments), **environment,
        "wall_seconds": round(time.perf_counter() - started, 1), "workers": n_workers})
    return path


def rescore(study: Study, slug: str, places: Places, n_units: int, seed: int,
            logits_path: Path, path: str | None = None) -> Comparison:
    """Scores ``n_units`` random units of a committed rung again and compares.

    ``path``: the one to score them by; None means the registered one.

    Raises:
        InvalidLogits: the rung has no logits, or they are of other prompts.
    """
    registered = find_rung(study.rungs, slug)
    rung = replace(registered, path=path or registered.path)
    if not logits_path.exists():
        raise InvalidLogits(f"{slug}: {logits_path} does not exist; there is nothing to compare.")
    committed = read_logits(logits_path, slug)
    pairs = read_pairs(places.artifacts / "pairs.parquet")
    units = _rescored_units(rung, scoring_units(pairs, study.rule.units), n_units, seed)
    conversations = load_judgments(study.dataset, places.data).conversations()
    groups = make_groups(units, conversations, study.templates, pairs)
    judge = Judge(rung, locate_weights(rung, places.weights, fetch=True), study.templates)
    with tempfile.TemporaryDirectory() as work, _Bar(slug, 2 * len(units)) as bar:
        run = score_groups(judge, groups, "rescore", Path(work), 1, bar.update)
    return compare(committed, logits_table(run.columns, slug), slug, seed)


def _rescored_units(rung: Rung, units: list[Unit], n_units: int, seed: int) -> list[Unit]:
    """A sample, and with shared prefixes the rest of its groups, on which its bits depend."""
    chosen = sample_units(units, n_units, seed)
    if rung.path != SHARED_PREFIX:
        return chosen
    groups = {unit[:2] for unit in chosen}
    return [unit for unit in units if unit[:2] in groups]


def plan(study: Study, places: Places,
         limit_units: int | None = None) -> tuple[list[Group], Judgments]:
    """The groups of a study's scoring units, or of the first ``limit_units`` of them."""
    judgments = load_judgments(study.dataset, places.data)
    pairs = read_pairs(places.artifacts / "pairs.parquet")
    units = scoring_units(pairs, study.rule.units)[:limit_units]
    return make_groups(units, judgments.conversations(), study.templates, pairs), judgments


def check_output(output: Path | None, artifacts: Path, limit_units: int | None,
                 other_path: bool) -> Path:
    """Where a table goes: never a trial's into the artifacts.

    Args:
        output: the folder asked for.
        artifacts: the study's own folder.
        limit_units: of a limited run.
        other_path: the run takes another path than the registered one.

    Raises:
        InvalidConfig: a trial without an output folder of its own.
    """
    own = output is not None and output.resolve() != artifacts.resolve()
    if limit_units and not own:
        raise InvalidConfig("--limit-units makes an incomplete table; give it a folder of its own "
                            "with --output.")
    if other_path and not own:
        raise InvalidConfig("--no-prefix-sharing is another path than the registered one; give the "
                            "table a folder of its own with --output.")
    return output or artifacts


def _entry(study: Study, judge: Judge, run: ScoringRun, path: Path, judgments: Judgments) -> dict:
    rung = judge.rung
    return {
        "table_sha256": sha256_file(path), "n_rows": len(run.columns["logit_a"]),
        "weights": rung.weights.identity, "tokenizer_sha256": judge.tokenizer_sha256,
        "templates_sha256": study.templates_sha256, "registration_digest": study.digest,
        "option_ids": list(run.option_ids),
        "content_matches": judgments.content_matches,
        **registered_settings(rung), "engine": ENGINE,
        "tokens_computed": run.tokens_computed, "prompt_tokens": sum(run.columns["n_tokens"]),
        "group_seconds": round(run.group_seconds, 1), "resumed_groups": run.resumed_groups}


class _Bar:
    """Progress on stderr: tokens of finished prompts, tokens per second, time left, prompts.

    Time left goes by tokens, since the longest prompts are scored first.
    """

    def __init__(self, slug: str, n_prompts: int):
        self._bar = tqdm(desc=slug, unit=" tokens", unit_scale=True, mininterval=1, smoothing=0)
        self._prompts, self._n_prompts = 0, n_prompts
        self._show()

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_) -> None:
        self._bar.close()

    def update(self, n_prompts: int, n_tokens: int, all_tokens: int, resumed: bool) -> None:
        self._bar.total = all_tokens
        self._prompts += n_prompts
        if resumed:
            self._bar.initial += n_tokens
        self._show()
        self._bar.update(n_tokens)

    def _show(self) -> None:
        self._bar.set_postfix_str(f"{self._prompts}/{self._n_prompts} prompts", refresh=False)
