"""A whole small study on disk: a registration, a configuration and invented judgments."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..data.small_judgments import dataset_toml, gpt4_rows, human_rows, write_splits
from .tiny import DATE, HUB, REVISION, SLUG

# What makes the registered rule quick, and resolvable on 42 units of seven questions.
CHANGES = {"tokenizer": f'"{SLUG}"', "n_resamples": "299", "borderline_n_resamples": "399",
           "n_bins": "2", "max_dropped_share": "0.5"}
LADDER = f"""schema = 1
template_date = "{DATE.isoformat()}"
[[rung]]
slug = "{SLUG}"
model = "tiny random Llama"
family = "tiny"
parameters = %d
prompt_mode = "chat"
bos = "template"
dtype = "float32"
attention = "sdpa"
device = "cpu"
threads = 1
path = "shared_prefix"
licence = "Apache-2.0"
[rung.weights]
format = "hub"
hub = "{HUB}"
revision = "{REVISION}"
[[ladder]]
name = "tiny-ladder"
kind = "one_family"
rungs = ["{SLUG}"]
"""
PREDICTIONS = f"""schema = 1
[[prediction]]
rung = "{SLUG}"
class = "NO_PREFERENCE"
why = "Random weights know nothing of length."
[[scale_prediction]]
ladder = "tiny-ladder"
outcome = "UNDETERMINED"
why = "One rung shows no trend."
"""


@dataclass(frozen=True)
class StudyFolders:
    """Where a small study lives; ``arguments`` are the command line options that name it all."""
    root: Path

    @property
    def registration(self) -> Path:
        return self.root / "preregistration"

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def study_options(self) -> list[str]:
        names = ("registration", "config", "artifacts")
        return [f"--{name}={getattr(self, name)}" for name in names]

    def job_options(self, weights: Path) -> list[str]:
        return [*self.study_options(), f"--data={self.data}", f"--weights={weights}"]

    def copy(self, root: Path) -> "StudyFolders":
        shutil.copytree(self.root, root)
        return StudyFolders(root)


def write_small_study(root: Path, registered: Path, n_parameters: int) -> StudyFolders:
    """Writes a study of the tiny judge, its rule and templates taken from the registered ones.

    Args:
        root: a new folder.
        registered: the project's preregistration folder.
        n_parameters: of the tiny judge.
    """
    folders = StudyFolders(root)
    folders.registration.mkdir(parents=True)
    folders.config.mkdir()
    rule = (registered / "decision_rule.toml").read_text(encoding="utf-8")
    for key, value in CHANGES.items():
        rule = re.sub(rf"^{key} = \S+", f"{key} = {value}", rule, flags=re.MULTILINE)
    (folders.registration / "decision_rule.toml").write_text(rule, encoding="utf-8")
    (folders.registration / "predictions.toml").write_text(PREDICTIONS, encoding="utf-8")
    (folders.registration / "PREREGISTRATION.md").write_text("A test.\n", encoding="utf-8")
    shutil.copy(registered / "prompt_templates.json", folders.registration)
    (folders.config / "ladder.toml").write_text(LADDER % n_parameters, encoding="utf-8")
    human, gpt4_pair = human_rows(), gpt4_rows()
    (folders.config / "dataset.toml").write_text(dataset_toml(human, gpt4_pair), encoding="utf-8")
    write_splits(folders.data, human, gpt4_pair)
    return folders
