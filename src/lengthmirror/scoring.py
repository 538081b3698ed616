"""Scores a rung, resumable and with the same bytes every time.

The unit of work is one (question_id, turn) in one process. A finished group is a file of its own
in the work folder, under a key of everything its logits depend on: a changed field is a miss,
never another judge's answer. The table is put together from those files.
"""

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from .errors import InvalidJudge
from .files import json_bytes, write_bytes
from .ladder import SHARED_PREFIX, Rung
from .logit_table import LOGITS_SCHEMA
from .manifest import registered_settings
from .scoring_plan import Group, Prompt, PromptScore
from .workers import run_tasks

ENGINE = 3  # raised with every change that may change a bit of a logit


class Scorer(Protocol):
    """What scoring needs of a judge (``judge.Judge``, or a fake in tests)."""
    rung: Rung
    encoder: Any
    tokenizer_sha256: str

    def score(self, ids: list[int], option_ids: tuple[int, int], unit: str) -> PromptScore: ...

    def score_shared(self, prompts: list[list[int]], option_ids: tuple[int, int],
                     units: list[str]) -> tuple[list[PromptScore], int]: ...


class Progress(Protocol):
    """Told of every finished group: prompts, tokens, those of all groups, and whether it had been
    scored before."""

    def __call__(self, n_prompts: int, n_tokens: int, all_tokens: int, resumed: bool) -> None: ...


@dataclass(frozen=True)
class ScoringRun:
    """The columns of a logits table, and what making them took.

    Attributes:
        columns: every column of ``LOGITS_SCHEMA``.
        option_ids: the tokens of options A and B.
        tokens_computed: tokens that went through the model for this table.
        group_seconds: sum over groups of the time one process spent on each.
        resumed_groups: groups that had been scored by an earlier run.
    """
    columns: dict[str, list]
    option_ids: tuple[int, int]
    tokens_computed: int
    group_seconds: float
    resumed_groups: int


def judge_key(judge: Scorer, templates_sha256: str, environment: dict) -> str:
    """sha256 of everything but the prompts that a judge's logits depend on."""
    rung = judge.rung
    return _digest({"weights": rung.weights.identity, **registered_settings(rung),
                    "engine": ENGINE, "templates": templates_sha256,
                    "tokenizer": judge.tokenizer_sha256, "environment": environment})


def score_groups(judge: Scorer, groups: list[Group], key: str, work_dir: Path, n_workers: int,
                 progress: Progress) -> ScoringRun:
    """Scores what is missing and returns the whole table.

    Args:
        judge: loaded; workers are forked from this process and share its weights.
        groups: from ``scoring_plan.make_groups``.
        key: from ``judge_key``.
        work_dir: where finished groups are kept.
        n_workers: processes; 1 unless the rung runs on the CPU with one thread.
        progress: called after each group.

    Raises:
        ScoringFailed: a worker died, or a logit is not finite; finished groups are kept.
    """
    if n_workers > 1 and (judge.rung.device != "cpu" or judge.rung.threads > 1):
        raise InvalidJudge(f"{judge.rung.slug}: more than one worker needs device 'cpu' and one "
                           f"thread, got {judge.rung.device!r} and {judge.rung.threads} threads.")
    parts = [_Part(judge, group, key, Path(work_dir) / judge.rung.slug / key[:16])
             for group in groups]
    missing, all_tokens = [], sum(part.n_tokens for part in parts)
    for part in parts:
        done = part.read()
        if done is None:
            missing.append(part)
        else:
            progress(len(done["rows"]), part.n_tokens, all_tokens, True)
    longest_first = sorted(missing, key=lambda part: -part.n_tokens)

    def report(part: _Part, _: None) -> None:
        progress(len(part.group.prompts), part.n_tokens, all_tokens, False)

    processes = n_workers if judge.rung.device == "cpu" else 0  # CUDA does not survive a fork
    run_tasks(longest_first, _Part.score, processes, report,
              lambda part: f"{judge.rung.slug}, {part.group.name}")
    return _collect(parts, len(parts) - len(missing))


class _Part:
    """One group of one judge and the file that holds its finished rows."""

    def __init__(self, judge: Scorer, group: Group, key: str, folder: Path):
        self._judge, self.group = judge, group
        ids = [judge.encoder.encode(prompt.text, group.prompt_name(prompt))
               for prompt in group.prompts]
        self.option_ids = judge.encoder.option_ids(group.prompts[0].text)
        self.n_tokens = sum(map(len, ids))
        self._key = _digest([key, self.option_ids,
                             [[p.slot_a, p.slot_b, p.sha256, i]
                              for p, i in zip(group.prompts, ids)]])
        self._path = folder / f"q{group.question_id:03d}-t{group.turn}.json"

    def read(self) -> dict[str, Any] | None:
        """The finished group, or None when it is missing, damaged or was made of anything else."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(stored, dict) or stored.get("key") != self._key:
            return None
        part = stored.get("group")
        return part if stored.get("sha256") == _digest(part) else None

    def score(self) -> None:
        """Scores the group in this process and writes its file."""
        started = time.perf_counter()
        scores, computed = self._scores()
        rows = [{"question_id": self.group.question_id, "turn": self.group.turn,
                 "model_a": prompt.slot_a, "model_b": prompt.slot_b,
                 "prompt_sha256": prompt.sha256, **asdict(score)}
                for prompt, score in zip(self.group.prompts, scores)]
        group = {"rows": rows, "tokens_computed": computed,
                 "seconds": time.perf_counter() - started}
        write_bytes(self._path, json_bytes({"key": self._key, "sha256": _digest(group),
                                            "group": group}))

    def _scores(self) -> tuple[list[PromptScore], int]:
        """One score per prompt by the rung's path, and the tokens computed for them."""
        judge, names = self._judge, [self.group.prompt_name(p) for p in self.group.prompts]
        ids = [self._encoded(prompt, name) for prompt, name in zip(self.group.prompts, names)]
        if judge.rung.path == SHARED_PREFIX:
            return judge.score_shared(ids, self.option_ids, names)
        return [judge.score(one, self.option_ids, name)
                for one, name in zip(ids, names)], self.n_tokens

    def _encoded(self, prompt: Prompt, name: str) -> list[int]:
        """Token ids of a prompt whose option tokens are those of the whole group."""
        option_ids = self._judge.encoder.option_ids(prompt.text)
        if option_ids != self.option_ids:
            raise InvalidJudge(f"{self._judge.rung.slug}: the option tokens after {name} are "
                               f"{option_ids}, elsewhere {self.option_ids}.")
        return self._judge.encoder.encode(prompt.text, name)


def _collect(parts: list[_Part], resumed: int) -> ScoringRun:
    done = [part.read() for part in parts]
    rows = [row for part in done for row in part["rows"]]
    columns = {name: [row[name] for row in rows] for name in LOGITS_SCHEMA.names}
    return ScoringRun(columns, parts[0].option_ids,
                      sum(part["tokens_computed"] for part in done),
                      sum(part["seconds"] for part in done), resumed)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
