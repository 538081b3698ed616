"""A tiny repository with a registration in it, and a study of planted judges with its runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lengthmirror.frozen import file_digests
from lengthmirror.receipt import Entry, Receipt, receipt_bytes
from lengthmirror.registration import verify, write_receipt

from .ladder_runs import planted_run, planted_study

PROJECT = Path(__file__).parents[2]
RULE = "preregistration/decision_rule.toml"
RECEIPT = "preregistration/RECEIPT.json"
AMENDMENTS = "preregistration/AMENDMENTS.md"


class Repository:
    """A git repository with the frozen files; every commit has a fixed author and date."""

    def __init__(self, root: Path):
        self.root = root
        self.registration, self.config = root / "preregistration", root / "config"
        self.artifacts = root / "artifacts"

    def git(self, *arguments: str, when: str = "2026-01-01T00:00:00Z") -> str:
        """Runs git, untouched by the settings of whoever runs the tests."""
        person = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
                  for part, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.org"),
                                      ("DATE", when))}
        environment = {**os.environ, **person, "GIT_CONFIG_GLOBAL": os.devnull,
                       "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(["git", "-C", str(self.root), *arguments], env=environment,
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str) -> str:
        """Commits everything in the work tree; gives the commit's id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def append(self, path: str, text: str) -> None:
        """Adds text to a file, which may be new."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        with open(self.root / path, "a", encoding="utf-8") as file:
            file.write(text)

    def score(self, slug: str, text: str = "logits") -> str:
        """Commits a logits table (any bytes will do: the checks read the history only)."""
        self.append(f"artifacts/{slug}/logits.parquet", text)
        return self.commit(f"score {slug}")

    def amend(self, name: str, edit: str = "# amended\n", heading: str | None = None) -> str:
        """Commits an edit of the rule together with its heading in AMENDMENTS.md."""
        self.append(RULE, edit)
        self.append(AMENDMENTS, heading or f"\n## {name} (2026-02-03): a reason\n")
        return self.commit(f"amendment {name}")

    def freeze(self, *arguments) -> Receipt:
        """``lengthmirror freeze``, and a commit of the receipt."""
        receipt = write_receipt(self.registration, self.config, self.artifacts, *arguments)
        self.commit("receipt")
        return receipt

    def forge(self, named: str) -> None:
        """Writes a receipt that says the files as they are were frozen in the named commit."""
        entry = Entry("freeze", named, file_digests(self.registration, self.config), None, ())
        (self.root / RECEIPT).write_bytes(receipt_bytes(Receipt((entry,))))

    def checks(self) -> dict:
        """``lengthmirror verify``, by name of the check."""
        return {check.name: check
                for check in verify(self.registration, self.config, self.artifacts)}

    def clone(self, *options: str) -> "Repository":
        """A clone beside this repository, fetched as over a network."""
        target = self.root.with_name(f"{self.root.name}-clone")
        self.git("clone", "--quiet", *options, f"file://{self.root}", str(target))
        return Repository(target)


@pytest.fixture
def committed(tmp_path: Path) -> Repository:
    """The project's frozen files and an empty AMENDMENTS.md in a first commit; no receipt."""
    repository = Repository(tmp_path / "study")
    repository.root.mkdir()
    repository.git("init", "--quiet", "--initial-branch", "main")
    for role in ("preregistration", "config"):
        shutil.copytree(PROJECT / role, repository.root / role)
    (repository.root / RECEIPT).unlink(missing_ok=True)
    (repository.root / AMENDMENTS).write_text("# Amendments\n", encoding="utf-8")
    (repository.root / ".gitattributes").write_text("* -text\n", encoding="utf-8")
    repository.first = repository.commit("freeze")
    return repository


@pytest.fixture
def frozen(committed: Repository) -> Repository:
    """The same with its receipt in a second commit."""
    committed.freeze()
    return committed


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with planted judges and without a receipt."""
    return planted_study(tmp_path_factory)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Gives the run of that study in a mode, or with other options."""
    return lambda mode: planted_run(tmp_path_factory, mode)
