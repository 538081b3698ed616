"""Fixtures of the scoring tests: a tiny judge on disk and a small study for it to judge."""

import json

import pytest

from lengthmirror.study import load_study

from .small_study import StudyFolders, write_small_study
from .tiny import SLUG, byte_tokenizer, parameter_count, save_hub_layout, tiny_llama, tiny_rung


@pytest.fixture(scope="session")
def templates(request):
    """The registered prompt templates."""
    path = request.config.rootpath / "preregistration/prompt_templates.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def tiny_model():
    """The randomly initialised model behind ``tiny_weights``."""
    return tiny_llama(byte_tokenizer())


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory, tiny_model):
    """A weights folder that holds the tiny judge as a fetched hub repository."""
    folder = tmp_path_factory.mktemp("weights")
    save_hub_layout(folder / SLUG, tiny_model, byte_tokenizer())
    return folder


@pytest.fixture(scope="session")
def rung(tiny_model):
    """The rung of the tiny judge, with its right number of parameters."""
    count = parameter_count(tiny_model)
    return tiny_rung(parameters=count, loaded_parameters=count)


@pytest.fixture(scope="session")
def small_study_template(request, tmp_path_factory, tiny_model, tiny_weights):
    """A small study with its unit table, never written to by a test."""
    from lengthmirror.cli import main
    folders = write_small_study(tmp_path_factory.mktemp("study") / "small",
                                request.config.rootpath / "preregistration",
                                parameter_count(tiny_model))
    assert main(["pairs", *folders.job_options(tiny_weights)]) == 0
    return folders


@pytest.fixture
def small(small_study_template, tmp_path) -> StudyFolders:
    """A copy of the small study for one test."""
    return small_study_template.copy(tmp_path / "study")


@pytest.fixture
def small_config(small):
    """The small study, loaded."""
    return load_study(small.registration, small.config)
