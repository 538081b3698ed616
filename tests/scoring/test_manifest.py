"""The manifest ties each table to its judge; anything else is refused in one sentence."""

import json
import shutil
import threading

import pytest

from lengthmirror.errors import InvalidLogits, InvalidUnits
from lengthmirror.manifest import (
    NAME,
    check_logits_entry,
    check_unit_table_entry,
    read_manifest,
    unit_table_entry,
    update_manifest,
)
from lengthmirror.pairs import read_pairs
from lengthmirror.planted import always_longer, always_shorter, plant
from lengthmirror.study import load_study

SLUG, HUB_SLUG = "smollm2-135m", "qwen2.5-0.5b"


@pytest.fixture(scope="module")
def study(request):
    """The registered study."""
    root = request.config.rootpath
    return load_study(root / "preregistration", root / "config")


@pytest.fixture(scope="module")
def pairs(request):
    """The committed unit table."""
    return read_pairs(request.config.rootpath / "artifacts/pairs.parquet")


@pytest.fixture
def planted(tmp_path, study, pairs):
    """A manifest and a table of the rung's own, for one GGUF and one hub rung."""
    for slug in (SLUG, HUB_SLUG):
        plant(tmp_path, study, pairs, slug, always_longer)
    return tmp_path


def check(artifacts, study, slug=SLUG):
    return check_logits_entry(read_manifest(artifacts / NAME), study, study.rungs[slug],
                              artifacts / slug / "logits.parquet")


def change(artifacts, slug=SLUG, **fields):
    entry = read_manifest(artifacts / NAME)["rungs"][slug]
    update_manifest(artifacts / NAME, "rungs", slug, {**entry, **fields})


@pytest.mark.parametrize("slug", [SLUG, HUB_SLUG])
def test_a_table_with_its_own_entry_is_accepted(slug, planted, study):
    """The rung's entry comes back when bytes, weights, template and settings agree."""
    assert check(planted, study, slug)["weights"] == study.rungs[slug].weights.identity


def test_an_entry_of_other_weights_is_refused(planted, study):
    """Logits of another model's file do not pass for this rung's."""
    change(planted, weights={"sha256": "0" * 64})
    with pytest.raises(InvalidLogits) as caught:
        check(planted, study)
    registered = study.rungs[SLUG].weights.sha256
    assert str(caught.value) == (
        f'{SLUG}: the logits were scored with weights = {{"sha256": "{"0" * 64}"}}, '
        f'but the study registers {{"sha256": "{registered}"}}.')


def test_an_entry_of_another_revision_is_refused(planted, study):
    """Logits of another revision of the same hub repository are refused."""
    hub = study.rungs[HUB_SLUG].weights.hub
    change(planted, HUB_SLUG, weights={"hub": hub, "revision": "0" * 40})
    with pytest.raises(InvalidLogits, match="scored with weights"):
        check(planted, study, HUB_SLUG)


@pytest.mark.parametrize("key, value", [
    ("templates_sha256", "0" * 64), ("dtype", "bfloat16"), ("attention", "eager"),
    ("device", "cuda"), ("threads", 2), ("path", "from_scratch"), ("prompt_mode", "plain"),
    ("suffixes_per_forward", 2),
    ("bos", "none"), ("template_date", "1999-01-01"), ("parameters_loaded", 5)])
def test_an_entry_of_another_setting_is_refused(key, value, planted, study):
    """Everything that the logits depend on must be what the study registers."""
    change(planted, **{key: value})
    with pytest.raises(InvalidLogits, match=f"{SLUG}: the logits were scored with {key} = {value}"):
        check(planted, study)


@pytest.mark.parametrize("key", ["table_sha256", "weights", "templates_sha256", "dtype",
                                 "attention", "device", "threads", "path", "prompt_mode", "bos",
                                 "template_date", "parameters_loaded", "suffixes_per_forward"])
def test_an_entry_without_a_field_is_refused(key, planted, study):
    """A missing field is never taken for agreement."""
    change(planted, **{key: None})
    with pytest.raises(InvalidLogits):
        check(planted, study)


def test_a_foreign_table_is_refused(planted, study, pairs):
    """Another judge's table in the rung's folder is not the recorded one."""
    other = plant(planted / "elsewhere", study, pairs, HUB_SLUG, always_shorter)
    shutil.copy(other, planted / SLUG / "logits.parquet")
    with pytest.raises(InvalidLogits, match="is not the table recorded in MANIFEST.json"):
        check(planted, study)


@pytest.mark.parametrize("at", [0, 1000, -1])
def test_one_changed_byte_is_refused(at, planted, study):
    """A single flipped bit anywhere in the table is found before a row is read."""
    path = planted / SLUG / "logits.parquet"
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidLogits, match="is not the table recorded"):
        check(planted, study)


def test_a_table_without_an_entry_is_refused(planted, study):
    """Nothing shows whose logits an unrecorded table holds."""
    (planted / NAME).unlink()
    with pytest.raises(InvalidLogits, match="has no entry in MANIFEST.json"):
        check(planted, study)


def test_an_entry_without_its_table_is_refused(planted, study):
    """A recorded table that is gone is an error, not a judge that was never run."""
    (planted / SLUG / "logits.parquet").unlink()
    with pytest.raises(InvalidLogits, match="cannot be read"):
        check(planted, study)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff\xfe",
                                     b'{"schema": 2, "pairs": {}, "rungs": {}}',
                                     b'{"schema": 1, "pairs": {}, "rungs": []}'],
                         ids=["empty", "cut", "a_list", "null", "no_sections", "not_utf_8",
                              "another_schema", "rungs_as_a_list"])
def test_a_file_that_is_no_manifest_is_one_sentence(content, tmp_path):
    """A broken manifest is refused, and an update leaves its bytes alone."""
    path = tmp_path / NAME
    path.write_bytes(content)
    with pytest.raises(InvalidLogits) as caught:
        update_manifest(path, "rungs", SLUG, {})
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    assert path.read_bytes() == content


def test_no_manifest_is_an_empty_one(tmp_path):
    """Before anything was recorded both sections are empty."""
    assert read_manifest(tmp_path / NAME) == {"schema": 1, "pairs": {}, "rungs": {}}


def test_updates_in_any_order_give_the_same_bytes(tmp_path):
    """The manifest's bytes depend on its entries alone."""
    entries = {"b": {"z": 1, "a": [2.5]}, "a": {"é": None}}
    for name, order in (("one", "ab"), ("two", "ba")):
        for key in order:
            update_manifest(tmp_path / name, "rungs", key, entries[key])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert json.loads((tmp_path / "one").read_text(encoding="utf-8"))["rungs"] == entries


def test_parallel_updates_lose_nothing(tmp_path):
    """Writers that come at the same time all find their entry in the end."""
    path, keys = tmp_path / NAME, [f"judge-{number}" for number in range(12)]
    writers = [threading.Thread(target=update_manifest, args=(path, "rungs", key, {"of": key}))
               for key in keys]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert read_manifest(path)["rungs"] == {key: {"of": key} for key in keys}


def test_a_value_that_strict_json_lacks_changes_nothing(tmp_path):
    """NaN is no JSON: it is refused and the manifest keeps its bytes."""
    path = tmp_path / NAME
    update_manifest(path, "rungs", SLUG, {"wall_seconds": 1.0})
    before = path.read_bytes()
    with pytest.raises(ValueError):
        update_manifest(path, "rungs", SLUG, {"wall_seconds": float("nan")})
    assert path.read_bytes() == before


@pytest.fixture
def unit_table(tmp_path, study):
    """A file in the place of the unit table, with its own entry; gives path and entry."""
    path = tmp_path / "pairs.parquet"
    path.write_bytes(b"table")
    return path, unit_table_entry(study, path, 1814, {"human": True, "gpt4_pair": True}, "0" * 64)


def test_a_unit_table_with_its_own_entry_is_accepted(unit_table, study):
    """The entry comes back when bytes, data set, templates and tokenizer agree."""
    path, entry = unit_table
    assert check_unit_table_entry({"pairs": {"unit_table": entry}}, study, path) == entry


@pytest.mark.parametrize("change, expected", [
    ({"table_sha256": "0" * 64}, "is not the unit table recorded in MANIFEST.json"),
    ({"tokenizer": {"rung": "another-rung"}}, f"tokenizer = another-rung, .* registers {SLUG}"),
    ({"revision": "deadbeef"}, "revision = deadbeef, but the study registers"),
    ({"repository": "x/y"}, "repository = x/y, but the study registers lmsys/"),
    ({"templates_sha256": None}, "templates_sha256 = None, but the study registers")])
def test_a_unit_table_of_another_origin_is_refused(unit_table, study, change, expected):
    """Other bytes, data, templates or tokenizer than the study's are named."""
    path, entry = unit_table
    with pytest.raises(InvalidUnits, match=expected):
        check_unit_table_entry({"pairs": {"unit_table": {**entry, **change}}}, study, path)


def test_a_unit_table_without_an_entry_is_refused(unit_table, study):
    """Nothing shows what an unrecorded table was made of."""
    with pytest.raises(InvalidUnits, match="pairs.parquet has no entry in MANIFEST.json"):
        check_unit_table_entry({"pairs": {}}, study, unit_table[0])
