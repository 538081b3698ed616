"""From planted logits to the page: what a run of the ladder writes, the report reads."""

import json

import pytest

pytest.importorskip("matplotlib", reason="the report needs the extra 'report'")
pytest.importorskip("jinja2", reason="the report needs the extra 'report'")
pytest.importorskip("jsonschema", reason="the report needs the extra 'report'")

from lengthmirror.cli import main
from lengthmirror.report_checks import validator

from ..report.page_reader import Page
from .ladder_runs import CLASSES, at, planted_run, planted_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """ladder.json and sensitivity.json of the planted study, and the report of both."""
    folder = tmp_path_factory.mktemp("report of a run")
    run = planted_run(tmp_path_factory, "n 0")
    (folder / "ladder.json").write_bytes(run.json_path.read_bytes())
    study = at(planted_study(tmp_path_factory))
    assert main(["sensitivity", *study, "--output", str(folder)]) == 0
    assert main(["report", "--ladder", str(folder / "ladder.json"), "--output",
                 str(folder)]) == 0
    return folder


def test_the_page_shows_every_row_of_the_run(folder):
    """Each judge, reference and control has its name and class on the page."""
    page = Page((folder / "index.html").read_text("utf-8"))
    assert page.faults == [] and page.open_tags == [] and page.fetched == []
    for name, outcome in CLASSES.items():
        assert name in page.text and (outcome is None or outcome in page.text)
    assert "Registration: unregistered." in page.text


def test_the_page_has_all_five_figures(folder):
    """A ladder of three scored rungs has its slope drawn, and each judge its length curve."""
    assert {path.name for path in folder.glob("*.svg")} == {
        f"figure-{name}.svg" for name in ("gap", "subsets", "scale", "length", "orders")}


def test_the_page_has_the_registered_analyses(folder):
    """The sensitivity tables beside the ladder are on the page."""
    text = Page((folder / "index.html").read_text("utf-8")).text
    assert "labels: unanimous" in text and "order-debiased verdict" in text


def unknown(schema, definitions, value, place=""):
    """Places of a document whose key no schema describes."""
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].partition("#/$defs/")[2]], **schema}
    parts = [schema, *schema.get("allOf", ()), *schema.get("anyOf", ())]
    parts = [{**definitions[part["$ref"].partition("#/$defs/")[2]]}
             if part is not schema and "$ref" in part else part for part in parts]
    described = {key: each for part in parts for key, each in part.get("properties", {}).items()}
    if isinstance(value, dict) and described:
        return [f"{place}.{key}" for key in value if key not in described] + [
            found for key, each in value.items() if key in described
            for found in unknown(described[key], definitions, each, f"{place}.{key}")]
    items = next((part["items"] for part in parts if "items" in part), {})
    return [found for each in value for found in unknown(items, definitions, each, f"{place}[]")
            ] if isinstance(value, list) else []


@pytest.mark.parametrize("name", ["ladder", "sensitivity"])
def test_the_schemas_describe_every_key_of_a_run(name, folder):
    """What a run writes is valid, and holds no key that the published schema does not know."""
    document = json.loads((folder / f"{name}.json").read_text("utf-8"))
    assert [*validator(name).iter_errors(document)] == []
    definitions = validator("ladder").schema["$defs"]
    assert unknown(validator(name).schema, definitions, document) == []
    assert unknown(validator(name).schema, definitions, {**document, "extra": 1}) == [".extra"]
    if name == "ladder":
        document["rows"][0]["order_debiased"]["gap"]["extra"] = 1
        assert unknown(validator(name).schema, definitions, document) == [
            ".rows[].order_debiased.gap.extra"]
