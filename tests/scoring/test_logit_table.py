"""The logits table: what is written comes back, and every defect is one sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lengthmirror.errors import InvalidLogits
from lengthmirror.logit_alignment import align_logits
from lengthmirror.logit_table import LOGITS_SCHEMA, read_logits, write_logits
from lengthmirror.pairs import LENGTHS, SCHEMA, VOTES, PairTable, select_units
from lengthmirror.rule import load_rule

SLUG = "toy-judge"
UNITS = [  # question, turn, model_a, model_b, characters a and b, votes for a and b
    (1, 1, "ann", "bob", 100, 10, 1, 0),
    (1, 2, "ann", "cay", 10, 100, 0, 1),
    (2, 1, "ann", "bob", 10, 100, 1, 0),
    (2, 1, "bob", "cay", 100, 10, 0, 0),  # a tie vote only: selected, not judged
    (3, 1, "ann", "bob", 100, 10, 0, 1),
]


@pytest.fixture
def pairs():
    """Five units; the fourth has a tie vote and no other."""
    return PairTable(pa.Table.from_pylist([_pair(*unit) for unit in UNITS], schema=SCHEMA))


@pytest.fixture
def units(pairs, request):
    """All five units, above the registered tau."""
    return select_units(pairs, load_rule(
        request.config.rootpath / "preregistration/decision_rule.toml")[0].units)


def _pair(question_id, turn, model_a, model_b, chars_a, chars_b, votes_a, votes_b):
    row = dict.fromkeys((*VOTES, *LENGTHS), 0)
    row.update(question_id=question_id, turn=turn, model_a=model_a, model_b=model_b,
               chars_a=chars_a, chars_b=chars_b, votes_a_expert=votes_a, votes_b_expert=votes_b,
               votes_tie_expert=int(votes_a + votes_b == 0), gpt4_verdict="tie",
               prompt_sha256_ab=f"{question_id}{turn}{model_a}{model_b}",
               prompt_sha256_ba=f"{question_id}{turn}{model_b}{model_a}")
    return row


def good_columns():
    """Both orderings of the four judged units; the logits of row i are 10 i and 10 i + 1."""
    keys = [key for question, turn, a, b, *_, votes_a, votes_b in UNITS if votes_a + votes_b
            for key in ((question, turn, a, b), (question, turn, b, a))]
    question_id, turn, model_a, model_b = (list(column) for column in zip(*keys))
    at = np.arange(len(keys))
    return {"question_id": question_id, "turn": turn, "model_a": model_a, "model_b": model_b,
            "n_tokens": at + 7, "logit_a": 10.0 * at, "logit_b": 10.0 * at + 1,
            "logprob_a": -at - 1.5, "logprob_b": -at - 0.5, "argmax_token": at,
            "prompt_sha256": ["".join(map(str, key)) for key in keys]}


def write_unchecked(path, columns, schema=LOGITS_SCHEMA):
    """Writes a table that ``write_logits`` would refuse."""
    arrays = [pa.array(columns[field.name], type=field.type) for field in schema]
    pq.write_table(pa.Table.from_arrays(arrays, names=schema.names), path)


def test_written_logits_come_back_sorted(tmp_path):
    """Reading gives the written rows, sorted by question, turn, slot A and slot B."""
    columns = good_columns()
    order = np.random.Generator(np.random.Philox(1)).permutation(len(columns["turn"]))
    shuffled = {name: np.asarray(column)[order] for name, column in columns.items()}
    write_logits(tmp_path / SLUG / "logits.parquet", shuffled)
    table = read_logits(tmp_path / SLUG / "logits.parquet", SLUG)
    keys = list(zip(*(table[name].to_pylist() for name in LOGITS_SCHEMA.names[:4])))
    assert keys == sorted(keys)
    by_key = dict(zip(keys, table["logit_a"].to_pylist()))
    for at, key in enumerate(zip(*(columns[name] for name in LOGITS_SCHEMA.names[:4]))):
        assert by_key[key] == columns["logit_a"][at]


def test_row_order_does_not_change_the_bytes(tmp_path):
    """The same rows in another order give the same file."""
    columns = good_columns()
    backward = {name: np.asarray(column)[::-1] for name, column in columns.items()}
    write_logits(tmp_path / "one.parquet", columns)
    write_logits(tmp_path / "two.parquet", backward)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_nothing_but_the_table_is_left_behind(tmp_path):
    """Writing leaves no temporary file, and a refused table leaves nothing at all."""
    write_logits(tmp_path / SLUG / "logits.parquet", good_columns())
    with pytest.raises(InvalidLogits):
        write_logits(tmp_path / "other" / "logits.parquet", nan_logit(good_columns()))
    assert [path.name for path in tmp_path.rglob("*")] == [SLUG, "logits.parquet"]


def test_a_refused_table_leaves_the_old_one(tmp_path):
    """A table with a NaN does not replace the good one that is there."""
    path = tmp_path / SLUG / "logits.parquet"
    write_logits(path, good_columns())
    before = path.read_bytes()
    with pytest.raises(InvalidLogits):
        write_logits(path, nan_logit(good_columns()))
    assert path.read_bytes() == before


def duplicate_ordering(columns):
    return {name: [*column, column[3]] for name, column in columns.items()}


def nan_logit(columns):
    return {**columns, "logit_b": [0.0, 0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 0.0]}


def infinite_logprob(columns):
    return {**columns, "logprob_a": [0.0, -np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}


def no_rows(columns):
    return {name: [] for name in columns}


def empty_cell(columns):
    return {**columns, "prompt_sha256": [None, *columns["prompt_sha256"][1:]]}


DEFECTS = [
    (duplicate_ordering, "the logits of question 1, turn 2, cay in slot A and ann in slot B "
                         "occur twice."),
    (nan_logit, "logit_b of question 1, turn 2, cay in slot A and ann in slot B must be finite, "
                "got nan."),
    (infinite_logprob, "logprob_a of question 1, turn 1, bob in slot A and ann in slot B must be "
                       "finite, got -inf."),
    (no_rows, "the logits table has no rows."),
    (empty_cell, "column 'prompt_sha256' of the logits table has empty cells."),
]


@pytest.mark.parametrize("defect, sentence", DEFECTS, ids=[each.__name__ for each, _ in DEFECTS])
def test_a_defect_of_the_rows_is_one_sentence(defect, sentence, tmp_path):
    """A table with the defect is refused with the judge and the place named."""
    write_unchecked(tmp_path / "logits.parquet", defect(good_columns()))
    with pytest.raises(InvalidLogits) as caught:
        read_logits(tmp_path / "logits.parquet", SLUG)
    assert str(caught.value) == f"{SLUG}: {sentence}"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"question_id,turn\n1,1\n"],
                         ids=["empty_file", "cut_after_the_magic_bytes", "text_file"])
def test_a_file_that_is_not_parquet_is_one_sentence(content, tmp_path):
    """Bytes that are no parquet file are refused with judge and path named."""
    path = tmp_path / "logits.parquet"
    path.write_bytes(content)
    with pytest.raises(InvalidLogits, match=f"{SLUG}: .*logits.parquet cannot be read") as caught:
        read_logits(path, SLUG)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0.25, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_one_sentence(keep, tmp_path):
    """A table cut anywhere, as a killed copy leaves it, is refused."""
    path = tmp_path / "logits.parquet"
    write_logits(path, good_columns())
    path.write_bytes(path.read_bytes()[:int(keep * path.stat().st_size)])
    with pytest.raises(InvalidLogits, match="cannot be read as a logits table"):
        read_logits(path, SLUG)


def test_a_missing_file_is_one_sentence(tmp_path):
    """A path without a file is refused."""
    with pytest.raises(InvalidLogits, match="cannot be read as a logits table"):
        read_logits(tmp_path / "logits.parquet", SLUG)


@pytest.mark.parametrize("name", LOGITS_SCHEMA.names)
def test_a_missing_column_is_named(name, tmp_path):
    """A table without one of the columns is refused with the column named."""
    at = LOGITS_SCHEMA.get_field_index(name)
    write_unchecked(tmp_path / "logits.parquet", good_columns(), LOGITS_SCHEMA.remove(at))
    with pytest.raises(InvalidLogits, match=f"needs a column '{name}' .* got no such column"):
        read_logits(tmp_path / "logits.parquet", SLUG)


def test_a_column_of_another_type_is_named(tmp_path):
    """Logits stored in double precision are not what scoring writes."""
    at = LOGITS_SCHEMA.get_field_index("logit_a")
    schema = LOGITS_SCHEMA.set(at, pa.field("logit_a", pa.float64()))
    write_unchecked(tmp_path / "logits.parquet", good_columns(), schema)
    with pytest.raises(InvalidLogits, match="'logit_a' of type float, got double"):
        read_logits(tmp_path / "logits.parquet", SLUG)


def test_an_unknown_column_is_named(tmp_path):
    """A table with a column of its own is not this project's."""
    write_unchecked(tmp_path / "logits.parquet", {**good_columns(), "score": np.ones(8)},
                    LOGITS_SCHEMA.append(pa.field("score", pa.float32())))
    with pytest.raises(InvalidLogits, match="unknown or repeated column 'score'"):
        read_logits(tmp_path / "logits.parquet", SLUG)


def aligned(columns, units, pairs, tmp_path):
    write_unchecked(tmp_path / "logits.parquet", columns)
    return align_logits(units, pairs, read_logits(tmp_path / "logits.parquet", SLUG), SLUG)


def test_alignment_against_definition(units, pairs, tmp_path):
    """Each unit's logits are found by name, for the longer answer in slot A and in slot B."""
    columns = good_columns()
    result = aligned(columns, units, pairs, tmp_path)
    place = {key: at for at, key in enumerate(
        zip(*(columns[name] for name in LOGITS_SCHEMA.names[:4])))}
    for unit, (question, turn, a, b, chars_a, chars_b, *_) in enumerate(UNITS):
        if not units.judged[unit]:
            assert result.logit_longer[unit].tolist() == [0, 0]
            continue
        longer, shorter = (a, b) if chars_a > chars_b else (b, a)
        first, second = place[question, turn, longer, shorter], place[question, turn, shorter,
                                                                      longer]
        for kind in ("logit", "logprob"):
            assert getattr(result, f"{kind}_longer")[unit].tolist() == [
                columns[f"{kind}_a"][first], columns[f"{kind}_b"][second]]
            assert getattr(result, f"{kind}_shorter")[unit].tolist() == [
                columns[f"{kind}_b"][first], columns[f"{kind}_a"][second]]


def test_units_without_a_decided_vote_need_no_logits(units, pairs, tmp_path):
    """A unit that the judge is not run on may be absent, and gets zeros."""
    assert not units.judged.all()
    result = aligned(good_columns(), units, pairs, tmp_path)
    assert (result.logit_longer[~units.judged] == 0).all()


def test_row_order_does_not_change_the_alignment(units, pairs, tmp_path):
    """A table in any order aligns to the same arrays."""
    columns = good_columns()
    backward = {name: np.asarray(column)[::-1] for name, column in columns.items()}
    first, second = (aligned(each, units, pairs, tmp_path) for each in (columns, backward))
    assert (first.logit_longer == second.logit_longer).all()
    assert (first.logprob_shorter == second.logprob_shorter).all()


@pytest.mark.parametrize("row", range(8))
def test_a_missing_ordering_is_named(row, units, pairs, tmp_path):
    """Without one of the orderings the judge is refused with unit and slots named."""
    columns = good_columns()
    key = [columns[name][row] for name in LOGITS_SCHEMA.names[:4]]
    columns = {name: np.delete(np.asarray(column), row) for name, column in columns.items()}
    with pytest.raises(InvalidLogits) as caught:
        aligned(columns, units, pairs, tmp_path)
    assert str(caught.value) == (f"{SLUG}: no logits for question {key[0]}, turn {key[1]}, "
                                 f"{key[2]} in slot A and {key[3]} in slot B.")


@pytest.mark.parametrize("row", [0, 1, 7])
def test_logits_of_another_template_are_named(row, units, pairs, tmp_path):
    """A prompt digest that the unit table does not have is refused, in either ordering."""
    columns = good_columns()
    columns["prompt_sha256"][row] = "another prompt"
    with pytest.raises(InvalidLogits, match="belong to another prompt template or other answers"):
        aligned(columns, units, pairs, tmp_path)


def test_swapped_orderings_are_another_prompt(units, pairs, tmp_path):
    """Rows whose two slots were exchanged do not pass for the right ones."""
    columns = good_columns()
    columns["model_a"], columns["model_b"] = columns["model_b"], columns["model_a"]
    with pytest.raises(InvalidLogits, match="belong to another prompt template or other answers"):
        aligned(columns, units, pairs, tmp_path)


@pytest.mark.parametrize("name, value", [("question_id", 99), ("turn", 2), ("model_a", "dan")])
def test_a_foreign_unit_is_named(name, value, units, pairs, tmp_path):
    """A row of a unit that the unit table does not have is refused."""
    columns = {key: [*column, column[0]] for key, column in good_columns().items()}
    columns[name][-1] = value
    with pytest.raises(InvalidLogits, match="belong to no unit of the unit table"):
        aligned(columns, units, pairs, tmp_path)


@pytest.mark.parametrize("column, value, expected", [
    ("n_tokens", 0, "has no tokens"),
    ("logprob_a", 5.0, "gives the two options a probability above 1"),
    ("logit_a", -100.0, "has logits that contradict its log-probabilities")])
def test_values_that_no_model_gives_are_named(tmp_path, column, value, expected):
    """An impossible row is refused by judge, unit and ordering."""
    columns = good_columns()
    columns[column] = [value, *list(columns[column])[1:]]
    path = tmp_path / "logits.parquet"
    write_unchecked(path, columns)
    with pytest.raises(InvalidLogits, match=f"{SLUG}: question 1, .* ann in slot A .*{expected}"):
        read_logits(path, SLUG)
