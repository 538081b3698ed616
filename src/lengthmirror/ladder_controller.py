"""The controller's part of the plugin: it gathers the rows and owns the exit status.

Under pytest-xdist only the controller sees every worker's reports, so this class is registered
there alone. A collected rung whose row never arrives fails the run: a worker that dies or drops a
property must not leave a green report with a judge missing.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.junitxml import xml_key

from .analysis import Row
from .files import write_bytes
from .inputs import BESIDE_RUNGS
from .ladder_report import (
    estimate_text,
    flags_text,
    gap_text,
    in_ladder_order,
    ladder_bytes,
    table_lines,
)
from .ladder_session import LadderSession
from .scale_report import scale_lines, scale_text

ROW_PROPERTY, SCALE_PROPERTY = "ladder_row", "scale_row"
ROW_TESTS = ("test_rungs.py::test_rung[", "test_rungs.py::test_reference[",
             "test_rungs.py::test_control[", "test_scale.py::test_ladder[")


class LadderController:
    """Rows by test, what was collected, and what both together say about the run."""

    def __init__(self, session: LadderSession, json_path: Path | None):
        self._session = session
        self._json_path = json_path
        self._collected: set[str] = set()
        self._rows: dict[str, Row] = {}
        self._ladders: dict[str, Row] = {}
        self._counted = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids: list[str]) -> None:
        self._collect(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name in (ROW_PROPERTY, SCALE_PROPERTY):
                rows = self._rows if name == ROW_PROPERTY else self._ladders
                rows[report.nodeid] = json.loads(value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._collected or session.config.option.collectonly:
            return
        self._counted = True
        add_suite_properties(session.config, self._suite_properties())
        if self._json_path is not None and self._any_row:
            write_bytes(self._json_path, self._report())
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._any_row:
            terminalreporter.section("ladder")
        if self._rows:
            terminalreporter.write_line("\n".join(table_lines(self._ordered())))
        if self._ladders:
            terminalreporter.write_line("\n" + "\n".join(scale_lines(self._ordered_ladders())))
        for nodeid in self.missing if self._counted else ():
            terminalreporter.write_line(
                f"no row arrived from {nodeid}, so this run does not count.", red=True)
        if self._json_path is not None and not self._any_row:
            terminalreporter.write_line(
                f"{self._json_path} was not written: no ladder test gave a row.", red=True)

    @property
    def missing(self) -> list[str]:
        """Collected row tests from which no row arrived, sorted."""
        return sorted(self._collected - set(self._rows) - set(self._ladders))

    @property
    def _any_row(self) -> bool:
        return bool(self._rows or self._ladders)

    def _report(self) -> bytes:
        """ladder.json; what has no row, deselected or failed, is named in it."""
        study, rows, ladders = self._session.study, self._ordered(), self._ordered_ladders()
        known = {row["rung"] for row in rows}, {row["ladder"] for row in ladders}
        return ladder_bytes(
            self._session.registration, self._session.inputs.dataset, rows, ladders,
            [name for name in (*study.rungs, *BESIDE_RUNGS) if name not in known[0]],
            [name for name in study.ladders if name not in known[1]])

    def _collect(self, nodeids: Iterable[str]) -> None:
        self._collected.update(nodeid for nodeid in nodeids
                               if any(name in nodeid for name in ROW_TESTS))

    def _ordered(self) -> list[Row]:
        return in_ladder_order(self._rows.values(), list(self._session.study.rungs))

    def _ordered_ladders(self) -> list[Row]:
        place = list(self._session.study.ladders)
        return sorted(self._ladders.values(), key=lambda row: place.index(row["ladder"]))

    def _suite_properties(self) -> dict[str, str]:
        registration = {f"registration_{name}": str(value)
                        for name, value in self._session.registration.items()}
        results = {f"result_{row['rung']}": _result(row) for row in self._ordered()}
        results |= {f"scale_{row['ladder']}": _scale_result(row)
                    for row in self._ordered_ladders()}
        if not self._any_row:
            return registration
        matches = json.dumps(self._session.inputs.dataset["content_matches"], sort_keys=True)
        return {**registration, "dataset_content_matches": matches, **results}


def add_suite_properties(config: pytest.Config, properties: dict[str, str]) -> None:
    """Properties of the JUnit test suite; ``record_testsuite_property`` is lost under xdist."""
    xml = config.stash.get(xml_key, None)
    if xml is not None:
        for name, value in properties.items():
            xml.add_global_property(name, value)


def _result(row: Row) -> str:
    if row["gap"] is None:
        return row["status"]
    outcome, flags = row["class"] or row["status"], flags_text(row) or "none"
    return f"{outcome}; G = {gap_text(row)}; flags: {flags}"


def _scale_result(row: Row) -> str:
    if row["status"] == "not_run":
        return row["status"]
    return f"{scale_text(row)}; slope = {estimate_text(row['slope'])}; p = {row['slope_p']}"
