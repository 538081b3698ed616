"""The pytest plugin of tests/ladder: options, fixtures and the header.

State lives in ``LadderSession`` (every process) and ``LadderController`` (the controller only).
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .analysis import Row
from .errors import LengthMirrorError
from .inputs import CONTROLS, REFERENCES, Inputs
from .ladder_controller import ROW_PROPERTY, SCALE_PROPERTY, LadderController
from .ladder_report import row_json
from .ladder_session import LadderOptions, LadderSession
from .pairs import Units
from .registration import CHECKS
from .study import Study

FOLDERS = {"registration": "preregistration", "config": "config", "artifacts": "artifacts"}
_SESSION = pytest.StashKey[LadderSession]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lengthmirror", "the mirror-subset test")
    for name, folder in FOLDERS.items():
        group.addoption(f"--{name}", dest=f"study_{name}", metavar="DIR",
                        help=f"take {folder}/ of the study from DIR")
    group.addoption("--ladder-json", metavar="PATH", help="write the rows of the ladder to PATH")
    group.addoption("--require-logits", action="store_true",
                    help="a rung without logits fails instead of being skipped")
    group.addoption("--require-verified", action="store_true",
                    help="a registration that cannot be verified fails instead of being skipped")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    given = [name for name in FOLDERS if getattr(config.option, f"study_{name}")]
    folders = {name: _folder(config, name) for name in FOLDERS}
    session = LadderSession(LadderOptions(**folders, own=not set(given) - {"artifacts"}))
    config.stash[_SESSION] = session
    if hasattr(config, "workerinput"):
        return
    if given:
        _check(session)
    if config.option.xmlpath and config.getini("junit_family") not in ("xunit1", "legacy"):
        raise pytest.UsageError("the ladder's rows are JUnit properties of test cases, which need "
                                f"junit_family xunit1, got {config.getini('junit_family')}.")
    config.pluginmanager.register(LadderController(session, _json_path(config)),
                                  "ladder-controller")
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"  # a crashed worker may not pass on a second try


def pytest_report_header(config: pytest.Config) -> list[str]:
    try:
        registration = config.stash[_SESSION].registration
    except LengthMirrorError as error:
        return [f"lengthmirror: {error}"]
    numbers = ", ".join(f"{name} {registration[name]}" for name in
                        ("tau", "alpha", "delta_0", "delta_h", "delta_b", "seed"))
    return [f"registration: {registration['status']}, digest {registration['digest']}",
            f"registered: {numbers}"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture, names in (("ladder_rung", lambda study: study.rungs),
                           ("scale_ladder", lambda study: study.ladders)):
        if fixture in metafunc.fixturenames:
            try:
                found = list(names(metafunc.config.stash[_SESSION].study))
            except LengthMirrorError as error:
                raise pytest.Collector.CollectError(str(error)) from None
            metafunc.parametrize(fixture, found)
    for fixture, names in (("ladder_reference", REFERENCES), ("ladder_control", tuple(CONTROLS)),
                           ("registration_check", CHECKS)):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, names)


@pytest.fixture(scope="session")
def ladder(request: pytest.FixtureRequest) -> LadderSession:
    """The study under test."""
    return request.config.stash[_SESSION]


@pytest.fixture(scope="session")
def registered_study(ladder: LadderSession) -> Study:
    """Registration and configuration."""
    return _or_fail(lambda: ladder.study)


@pytest.fixture(scope="session")
def ladder_inputs(ladder: LadderSession) -> Inputs:
    """The study with its unit table and the place of its logits."""
    return _or_fail(lambda: ladder.inputs)


@pytest.fixture(scope="session")
def unit_table(ladder_inputs: Inputs) -> Units:
    """The registered units above tau."""
    return ladder_inputs.units


@pytest.fixture(scope="session")
def ladder_row(ladder: LadderSession) -> Callable[[str], Row]:
    """Gives the row of a scored rung, a reference or a control; bad input fails the test in one
    sentence."""
    return lambda name: _or_fail(lambda: ladder.row(name))


@pytest.fixture(scope="session")
def scale_row(ladder: LadderSession) -> Callable[[str], Row]:
    """Gives the row of a ladder; bad input of a scored rung fails the test in one sentence."""
    return lambda name: _or_fail(lambda: ladder.scale_row(name))


@pytest.fixture
def record_row(record_property) -> Callable[[Row], None]:
    """Hands a row to the controller, as one builtin string, so that no xdist worker dies of it."""
    return lambda row: record_property(
        SCALE_PROPERTY if "ladder" in row else ROW_PROPERTY, row_json(row))


def _folder(config: pytest.Config, name: str) -> Path:
    """The folder of an option, made absolute where the workers will read it."""
    option = f"study_{name}"
    given = getattr(config.option, option)
    if given is None:
        return config.rootpath / FOLDERS[name]
    setattr(config.option, option, str(config.invocation_params.dir / given))
    return Path(getattr(config.option, option))


def _json_path(config: pytest.Config) -> Path | None:
    if config.option.ladder_json is None:
        return None
    path = config.invocation_params.dir / config.option.ladder_json
    if path.is_dir():
        raise pytest.UsageError(f"--ladder-json must name a file, but {path} is a folder.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--ladder-json cannot write below {path.parent} "
                                f"({error.strerror}).") from None
    if not os.access(path.parent, os.W_OK):
        raise pytest.UsageError(f"--ladder-json cannot write below {path.parent}.")
    return path


def _check(session: LadderSession) -> None:
    """Reads the whole study, so that a bad option stops the run before any test."""
    try:
        _ = session.inputs
    except LengthMirrorError as error:
        raise pytest.UsageError(str(error)) from None


def _or_fail(read: Callable):
    try:
        return read()
    except LengthMirrorError as error:
        sentence = str(error)
    pytest.fail(sentence, pytrace=False)  # outside the handler, so that no traceback is chained
