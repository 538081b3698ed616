"""What one pytest process knows of the study under test; everything is read once, when asked."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .analysis import (
    Row,
    RungStatistics,
    control_row,
    gpt4_row,
    humans_row,
    rung_row,
    rung_statistics,
)
from .inputs import CONTROLS, GPT4, HUMANS, Inputs, Registration, load_inputs
from .ladder_report import registration_section
from .registration import UNREGISTERED, Check, is_registered, overall, verify
from .scale_report import scale_row
from .study import Study, load_study


@dataclass(frozen=True)
class LadderOptions:
    """The folders of the study; ``own`` is False when an option names another study."""
    registration: Path
    config: Path
    artifacts: Path
    own: bool


class LadderSession:
    """Study, unit table and rows, each computed at most once per process."""

    def __init__(self, options: LadderOptions):
        self.options = options
        self._rows: dict[str, Row] = {}
        self._ladders: dict[str, Row] = {}
        self._statistics: dict[str, RungStatistics] = {}

    @cached_property
    def study(self) -> Study:
        return load_study(self.options.registration, self.options.config)

    @cached_property
    def checks(self) -> dict[str, Check]:
        """The tamper checks by name."""
        options = self.options
        found = verify(options.registration, options.config, options.artifacts)
        return {check.name: check for check in found}

    @property
    def status(self) -> str:
        """verified, unverifiable, broken or unregistered (see ``registration.overall``)."""
        return overall(list(self.checks.values()), self.options.own)

    @property
    def registered(self) -> bool:
        """Whether the receipt beside the registration records these very files."""
        return (self.status != UNREGISTERED
                and is_registered(self.options.registration, self.study.digest))

    @cached_property
    def inputs(self) -> Inputs:
        return load_inputs(self.study, self.options.artifacts,
                           Registration(self.study.digest, self.status, self.registered))

    @property
    def registration(self) -> dict[str, Any]:
        """The digest, the status and the registered numbers a reader asks for first."""
        return registration_section(self.study, self.status)

    def statistics(self, slug: str) -> RungStatistics:
        """What the row of a scored rung and the rows of its ladders rest on."""
        if slug not in self._statistics:
            self._statistics[slug] = rung_statistics(self.inputs, slug)
        return self._statistics[slug]

    def row(self, name: str) -> Row:
        """The row of a scored rung, a reference or a control; see ``analysis`` for the errors."""
        if name not in self._rows:
            self._rows[name] = self._row(name)
        return self._rows[name]

    def scale_row(self, name: str) -> Row:
        """The row of a ladder; the errors are those of its scored rungs."""
        if name not in self._ladders:
            self._ladders[name] = scale_row(self.inputs, name, self.statistics)
        return self._ladders[name]

    def _row(self, name: str) -> Row:
        references = {GPT4: gpt4_row, HUMANS: humans_row}
        if name in references:
            return references[name](self.inputs)
        if name in CONTROLS:
            return control_row(self.inputs, name)
        return rung_row(self.inputs, name, self.statistics(name))
