"""Runs of pytest on tests/ladder, from outside, with planted judges in the place of real ones.

``ONLY_SLOT`` is as its registered prediction says, ``ONLY_LENGTH`` and ``LIKE_GPT4`` falsify
theirs; the other rungs have no logits. A run starts new processes, so what several tests look at
is made once for all of them, whichever pytest-xdist worker they are in.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from lengthmirror import planted
from lengthmirror.manifest import read_manifest, update_manifest
from lengthmirror.pairs import read_pairs
from lengthmirror.study import load_study

PROJECT = Path(__file__).parents[2]
MODES = {"no xdist": ("-p", "no:xdist"), "n 0": ("-n", "0"), "n 2": ("-n", "2")}
ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4 = "smollm2-135m", "gemma-3-270m", "qwen2.5-coder-0.5b"
CLASSES = {ONLY_LENGTH: "LENGTH_PREFERENCE", ONLY_SLOT: "NO_PREFERENCE",
           LIKE_GPT4: "QUALITY_TRACKING", "gpt4-published": "QUALITY_TRACKING", "humans": None,
           "always-longer": "LENGTH_PREFERENCE", "coin": "NO_PREFERENCE"}
BELOW_THE_STEP = ("qwen2.5-0.5b", "qwen2.5-1.5b")
ABOVE_THE_STEP = ("qwen2.5-3b", "qwen2.5-7b")
ALL_EQUAL = ("smollm2-135m-full", "smollm2-360m", "smollm2-1.7b")
ALONE = "gemma-3-270m"
every_mode = pytest.mark.parametrize("mode", MODES)


@dataclass(frozen=True)
class Run:
    """What one pytest run left behind in a folder."""
    folder: Path

    @property
    def status(self):
        return int((self.folder / "status").read_text())

    @property
    def output(self):
        return (self.folder / "output").read_text(encoding="utf-8")

    @property
    def json_path(self):
        return self.folder / "ladder.json"

    @property
    def xml_path(self):
        return self.folder / "ladder.xml"

    @property
    def document(self):
        return json.loads(self.json_path.read_text(encoding="utf-8"), parse_constant=pytest.fail)

    @property
    def rows(self):
        return {row["rung"]: row for row in self.document["rows"]}

    @property
    def suite(self):
        """The properties of the JUnit suite."""
        found = ElementTree.parse(self.xml_path).getroot().find("testsuite/properties")
        return {each.get("name"): each.get("value") for each in found}

    @property
    def cases(self):
        """The JUnit test cases by name."""
        return {case.get("name"): case
                for case in ElementTree.parse(self.xml_path).getroot().iter("testcase")}

    def outcomes(self, test):
        """Outcome by parameter of one test function: passed, or the tag of the JUnit report."""
        marks = {name.partition("[")[2].rstrip("]"): [child for child in case
                                                      if child.tag != "properties"]
                 for name, case in self.cases.items() if name.startswith(f"{test}[")}
        return {name: found[0].tag if found else "passed" for name, found in marks.items()}

    def message(self, name):
        """Why a test failed or was skipped."""
        return next(child for child in self.cases[name] if child.tag != "properties").get("message")


def run_ladder(folder, *options, tests=("tests/ladder",), plugin=None):
    """Runs pytest on the ladder in a process of its own, as a user would."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PYTEST_")}
    run = Run(folder)
    if plugin is not None:
        (folder / "faulty_plugin.py").write_text(plugin, encoding="utf-8")
        environment["PYTHONPATH"] = str(folder)
        options = ("-p", "faulty_plugin", *options)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, "-p", "no:cacheprovider",
         f"--junitxml={run.xml_path}", "--ladder-json", run.json_path, *options],
        cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=300)
    (folder / "status").write_text(str(done.returncode))
    (folder / "output").write_text(done.stdout + done.stderr, encoding="utf-8")
    return run


def make_study(root):
    """A copy of the frozen files without their receipt, and planted logits."""
    for name in ("preregistration", "config"):
        shutil.copytree(PROJECT / name, root / name)
    (root / "preregistration/RECEIPT.json").unlink(missing_ok=True)
    return root


def plant_all(root):
    """The unit table and the three planted judges."""
    (root / "artifacts").mkdir()
    shutil.copy(PROJECT / "artifacts/pairs.parquet", root / "artifacts")
    unit_table = read_manifest(PROJECT / "artifacts/MANIFEST.json")["pairs"]["unit_table"]
    update_manifest(root / "artifacts/MANIFEST.json", "pairs", "unit_table", unit_table)
    study = load_study(root / "preregistration", root / "config")
    pairs = read_pairs(root / "artifacts/pairs.parquet")
    length = planted.noisy_length(0.8, study.rule.bootstrap.seed)
    for slug, margins in ((ONLY_LENGTH, length), (ONLY_SLOT, planted.always_slot_a),
                          (LIKE_GPT4, planted.gpt4)):
        planted.plant(root / "artifacts", study, pairs, slug, margins)
    return root


def plant_ladders(root):
    """A step in one ladder, three equal judges in another, and one rung of the third."""
    shutil.copytree(PROJECT / "artifacts", root / "artifacts",
                    ignore=lambda folder, names: [name for name in names
                                                  if (Path(folder) / name).is_dir()])
    manifest = root / "artifacts/MANIFEST.json"
    manifest.unlink()
    unit_table = read_manifest(PROJECT / "artifacts/MANIFEST.json")["pairs"]["unit_table"]
    update_manifest(manifest, "pairs", "unit_table", unit_table)
    study = load_study(root / "preregistration", root / "config")
    pairs, seed = read_pairs(root / "artifacts/pairs.parquet"), study.rule.bootstrap.seed
    coin = planted.noisy_length(0.5, seed)
    judges = {**{slug: planted.always_slot_a for slug in BELOW_THE_STEP},
              **{slug: planted.mixture(coin, planted.gpt4, 0.03, seed + at)
                 for at, slug in enumerate(ABOVE_THE_STEP)},
              **{slug: planted.noisy_length(0.8, seed + at) for at, slug in enumerate(ALL_EQUAL)},
              ALONE: planted.always_longer}
    for slug, margins in judges.items():
        planted.plant(root / "artifacts", study, pairs, slug, margins)
    return root


def edit(path, old, new):
    """Replaces text in a file that has it."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def at(root):
    """The options that point the ladder at another study."""
    return [option for name, folder in (("registration", "preregistration"), ("config", "config"),
                                        ("artifacts", "artifacts"))
            for option in (f"--{name}", str(root / folder))]


def made_once(tmp_path_factory, name, fill):
    """A folder that ``fill`` fills once in a test session, whoever asks for it first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            unfinished = folder.with_name(f"{name}.part")
            unfinished.mkdir()
            fill(unfinished)
            unfinished.rename(folder)
    return folder


def planted_study(tmp_path_factory):
    """A study with planted judges and without a receipt."""
    return made_once(tmp_path_factory, "planted study", lambda root: plant_all(make_study(root)))


def ladders_study(tmp_path_factory):
    """A study whose ladders have a known step, no step, and too few judges."""
    return made_once(tmp_path_factory, "ladders study",
                     lambda root: plant_ladders(make_study(root)))


def planted_run(tmp_path_factory, mode):
    """The run of that study in a mode, or with other options."""
    options = at(planted_study(tmp_path_factory)) + list(MODES.get(mode) or mode.split())
    return Run(made_once(tmp_path_factory, f"run {mode}",
                         lambda folder: run_ladder(folder, *options)))


def drops_rows_of(test: str) -> str:
    """A pytest plugin that loses what one test reports."""
    return f"""
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name == "{test}":
        report.user_properties = []
    return report
"""
