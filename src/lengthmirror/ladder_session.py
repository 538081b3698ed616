"""What one pytest process knows of the study under test; everything is read once, when asked."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .analysis import (
    GPT4,
    HUMANS,
    Inputs,
    Registration,
    Row,
    gpt4_row,
    humans_row,
    load_inputs,
    rung_row,
)
from .ladder_report import registration_section
from .registration import UNREGISTERED, Check, is_registered, overall, verify
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

    def row(self, name: str) -> Row:
        """The row of a scored rung or of a reference; see ``analysis`` for the errors."""
        if name not in self._rows:
            references = {GPT4: gpt4_row, HUMANS: humans_row}
            self._rows[name] = (references[name](self.inputs) if name in references
                                else rung_row(self.inputs, name))
        return self._rows[name]
