"""artifacts/pairs.parquet: strict reading, deterministic writing, no text, rebuilt to the byte."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror import pairs
from lengthmirror.dataset import load_judgments
from lengthmirror.encoding import plain_ids
from lengthmirror.errors import InvalidUnits
from lengthmirror.files import write_table
from lengthmirror.frozen import sha256_file
from lengthmirror.judge import load_tokenizer, tokenizer_digest
from lengthmirror.pairs import SCHEMA, read_pairs, write_pairs
from lengthmirror.unit_builder import unit_rows
from lengthmirror.weights import LocalWeights

from ..local_files import judgments_folder, weights_folder
from ..strategies import PROPERTIES

NAMES = ["", "a", "aa", "z", "\u00e9", "\uffff", "\U0001f600"]


@pytest.fixture
def committed(request):
    """The committed unit table."""
    return request.config.rootpath / "artifacts/pairs.parquet"


@pytest.fixture
def rows(committed):
    """Its rows."""
    return pq.read_table(committed).to_pylist()


def test_table_survives_writing_and_reading(tmp_path, committed, rows):
    """Rows written in any order give the same bytes as the committed file."""
    write_pairs(tmp_path / "pairs.parquet", rows[::-1])
    assert (tmp_path / "pairs.parquet").read_bytes() == committed.read_bytes()
    assert len(read_pairs(tmp_path / "pairs.parquet")) == len(rows)


def test_table_holds_no_text(rows):
    """Strings of the table are model names, verdicts and digests: no question, no answer."""
    words = {value for row in rows for value in row.values() if isinstance(value, str)}
    digests = {word for word in words if len(word) == 64 and set(word) <= set("0123456789abcdef")}
    assert len(words - digests) == 6 + 4
    assert max(map(len, words - digests)) < 20


def test_manifest_entry_is_of_these_bytes(request, committed, study):
    """The manifest records the committed table, its source and what it was built with."""
    manifest = json.loads((request.config.rootpath / "artifacts/MANIFEST.json").read_text())
    entry = manifest["pairs"]["unit_table"]
    assert entry["table_sha256"] == sha256_file(committed)
    assert entry["content_matches"] == {"human": True, "gpt4_pair": True}
    assert (entry["repository"], entry["revision"]) == (study.dataset.repository,
                                                        study.dataset.revision)
    assert entry["templates_sha256"] == study.templates_sha256
    assert entry["tokenizer"]["rung"] == study.rule.units.tokenizer


def test_rebuilding_gives_the_committed_bytes(request, tmp_path, study, committed):
    """The published judgments and the registered tokenizer give this very table (needs both)."""
    root, rung = request.config.rootpath, study.rungs[study.rule.units.tokenizer]
    judgments = load_judgments(study.dataset, judgments_folder(root))
    tokenizer = load_tokenizer(rung, LocalWeights(weights_folder(root, rung), rung.weights.file))
    rebuilt = unit_rows(judgments, study.templates, lambda text: len(plain_ids(tokenizer, text)))
    write_pairs(tmp_path / "pairs.parquet", rebuilt)
    assert (tmp_path / "pairs.parquet").read_bytes() == committed.read_bytes()
    manifest = json.loads((root / "artifacts/MANIFEST.json").read_text())
    assert manifest["pairs"]["unit_table"]["tokenizer"]["sha256"] == tokenizer_digest(tokenizer)


def test_missing_table_names_the_command_that_makes_it(tmp_path):
    """Without a table the error says what writes one."""
    with pytest.raises(InvalidUnits, match="pairs.parquet does not exist; 'lengthmirror pairs'"):
        read_pairs(tmp_path / "pairs.parquet")


@pytest.mark.parametrize("damage", ["empty", "text", "truncated", "middle"])
def test_corrupt_table_is_one_sentence(tmp_path, committed, damage):
    """A damaged file is one sentence that names it, on one line."""
    content = committed.read_bytes()
    path = tmp_path / "pairs.parquet"
    path.write_bytes({"empty": b"", "text": b"question_id\n", "truncated": content[:-8],
                      "middle": content[:4] + bytes(2000) + content[2004:]}[damage])
    with pytest.raises(InvalidUnits, match="pairs.parquet cannot be read as parquet: ") as caught:
        read_pairs(path)
    assert "\n" not in str(caught.value)


def changed(rows, defect):
    """The rows or the schema with one defect."""
    other = pa.schema([field if field.name != "turn" else pa.field("turn", pa.int64())
                       for field in SCHEMA])
    first = rows[0]
    swapped = {**first, "model_a": first["model_b"], "model_b": first["model_a"]}
    return {"empty cell": ([{**first, "tokens_a": None}, *rows[1:]], SCHEMA),
            "unsorted": (rows[::-1], SCHEMA), "repeated": ([first, *rows], SCHEMA),
            "models not in order": ([swapped, *rows[900:]], SCHEMA), "other type": (rows, other),
            "column missing": (rows, SCHEMA.remove(5)),
            "column too many": (rows, SCHEMA.append(pa.field("text", pa.string())))}[defect]


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2), *[st.sampled_from(NAMES)] * 2),
                max_size=8))
@PROPERTIES
def test_row_order_against_python(keys):
    """Rows increase where Python's tuples of question, turn and names do, in any alphabet."""
    columns = [pa.array([key[at] for key in keys], type=SCHEMA.field(at).type) for at in range(4)]
    assert pairs._increasing(columns).tolist() == [a < b for a, b in zip(keys, keys[1:])]


@pytest.mark.parametrize("defect, match", [
    ("empty cell", "pairs.parquet has an empty cell in its column tokens_a"),
    ("unsorted", "pairs.parquet is not sorted .* or has a unit twice"),
    ("repeated", "pairs.parquet is not sorted .* or has a unit twice"),
    ("models not in order", "has a unit whose model_a does not sort before its model_b"),
    ("other type", "pairs.parquet has not the columns of a unit table"),
    ("column missing", "pairs.parquet has not the columns of a unit table"),
    ("column too many", "pairs.parquet has not the columns of a unit table")])
def test_table_that_is_not_a_unit_table_is_refused(tmp_path, rows, defect, match):
    """Another order, a repeated unit or other columns are refused by the file's name."""
    content, schema = changed(rows, defect)
    write_table(tmp_path / "pairs.parquet", pa.Table.from_pylist(content, schema=schema))
    with pytest.raises(InvalidUnits, match=match):
        read_pairs(tmp_path / "pairs.parquet")
