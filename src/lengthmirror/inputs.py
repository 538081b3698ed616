"""What the rows of a report are made from: a study, its unit table and its recorded artifacts."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import InvalidConfig
from .manifest import NAME, check_unit_table_entry, read_manifest
from .pairs import PairTable, Units, read_pairs, scored, select_units
from .study import Study
from .subset_sums import POINTS

GPT4, HUMANS = "gpt4-published", "humans"
REFERENCES = (GPT4, HUMANS)
# Verdicts that need no answer to be read, in quarter points toward the longer one.
CONTROLS = {"always-longer": POINTS, "coin": POINTS // 2}
BESIDE_RUNGS = (*REFERENCES, *CONTROLS)
JUDGE, REFERENCE, CONTROL = "judge", "reference", "control"


@dataclass(frozen=True)
class Registration:
    """What every row repeats: the digest, what the tamper checks say (``status``) and whether
    the study's own receipt records these very files (``registered``)."""
    digest: str
    status: str
    registered: bool


@dataclass(frozen=True)
class Inputs:
    """A study with its unit table, the state of its registration and the recorded artifacts."""
    study: Study
    registration: Registration
    artifacts: Path
    manifest: dict[str, Any]
    pairs: PairTable
    units: Units

    @cached_property
    def scored_units(self) -> Units:
        """The units a judge is run on, all of which its table must have."""
        return select_units(self.pairs, scored(self.study.rule.units))

    def logits_path(self, slug: str) -> Path:
        return self.artifacts / slug / "logits.parquet"

    def has_logits(self, slug: str) -> bool:
        """Whether logits are there or should be: a recorded table that is gone is no skip."""
        return self.logits_path(slug).exists() or slug in self.manifest["rungs"]

    @property
    def dataset(self) -> dict[str, Any]:
        """Which judgments the unit table was built from, as recorded with it."""
        entry = self.manifest["pairs"].get("unit_table", {})
        return {name: entry.get(name) for name in ("repository", "revision", "content_matches",
                                                   "table_sha256")}


def load_inputs(study: Study, artifacts: Path, registration: Registration) -> Inputs:
    """Reads the unit table and selects the registered units.

    Raises:
        InvalidConfig: a rung has the name of a reference row.
        InvalidUnits: the unit table is missing, malformed or not the recorded one.
        EmptySubset: the registered tau leaves a subset empty.
    """
    for name in BESIDE_RUNGS:
        if name in study.rungs:
            kind = REFERENCE if name in REFERENCES else CONTROL
            raise InvalidConfig(f"the slug {name!r} is a {kind} row's and cannot name a rung.")
    path = Path(artifacts) / "pairs.parquet"
    pairs = read_pairs(path)
    manifest = read_manifest(Path(artifacts) / NAME)
    check_unit_table_entry(manifest, study, path)
    units = select_units(pairs, study.rule.units)
    return Inputs(study, registration, Path(artifacts), manifest, pairs, units)
