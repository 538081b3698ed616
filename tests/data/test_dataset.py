"""Judgments are checked on every load: rows and labels must be right, another text is told."""

import copy
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lengthmirror.dataset import Judgments, TextDiffers, check_split, digest, load_judgments
from lengthmirror.errors import InvalidDataset
from lengthmirror.study import DatasetConfig, SplitConfig

from ..local_files import judgments_folder
from .small_judgments import MODELS, swapped, write_splits


def config_for(human, gpt4_pair, repository="invented/small"):
    """The configuration that registers these rows."""
    splits = {}
    for name, rows in (("human", human), ("gpt4_pair", gpt4_pair)):
        labels = [{key: value for key, value in row.items() if "conversation" not in key}
                  for row in rows]
        splits[name] = SplitConfig(len(rows), digest(labels), digest(rows))
    return DatasetConfig(repository, "0" * 40, "CC0-1.0", "invented", splits)


@pytest.fixture
def config(human, gpt4_pair):
    """What the small judgments are registered as."""
    return config_for(human, gpt4_pair)


def load(tmp_path, config, human, gpt4_pair):
    """Writes both splits and loads them."""
    return load_judgments(config, write_splits(tmp_path / "data", human, gpt4_pair))


def test_registered_rows_load_without_a_word(tmp_path, config, human, gpt4_pair):
    """The registered content loads, row for row, and is recorded as matching."""
    judgments = load(tmp_path, config, human, gpt4_pair)
    assert judgments.human == human and judgments.gpt4_pair == gpt4_pair
    assert judgments.content_matches == {"human": True, "gpt4_pair": True}


def test_order_of_rows_does_not_matter(tmp_path, config, human, gpt4_pair):
    """The digest is over the set of rows: another order is the registered content."""
    judgments = load(tmp_path, config, human[::-1], gpt4_pair[::-1])
    assert judgments.content_matches == {"human": True, "gpt4_pair": True}


def test_files_in_the_hubs_layout_load_too(tmp_path, config, human, gpt4_pair):
    """Files in a subfolder, named and split in two as the hub does, are one split."""
    folder = tmp_path / "repository" / "data"
    write_splits(folder, human, gpt4_pair)
    (folder / "human.parquet").unlink()
    for number, rows in enumerate((human[:40], human[40:])):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"human-0000{number}-of-00002.parquet")
    assert load_judgments(config, folder.parent).human == human


@pytest.mark.parametrize("split", ["human", "gpt4_pair"])
def test_changed_label_is_an_error(tmp_path, config, human, gpt4_pair, split):
    """One changed winner is an error with both digests, whichever split it is in."""
    row = {"human": human, "gpt4_pair": gpt4_pair}[split][0]
    row["winner"] = "model_a" if row["winner"] != "model_a" else "model_b"
    with pytest.raises(InvalidDataset, match=f"^the labels of the {split} split have sha256 .*"
                                             f", expected {config.splits[split].label_sha256}"):
        load(tmp_path, config, human, gpt4_pair)


@pytest.mark.parametrize("field, value", [("judge", "expert_9"), ("model_a", "robin"),
                                          ("question_id", 99), ("turn", 2)])
def test_every_column_but_the_text_is_a_label(tmp_path, config, human, gpt4_pair, field, value):
    """Annotator, models, question and turn are labels as much as the winner is."""
    human[0][field] = value
    with pytest.raises(InvalidDataset, match="^the labels of the human split"):
        load(tmp_path, config, human, gpt4_pair)


@pytest.mark.parametrize("change", [lambda rows: rows[:-1], lambda rows: [*rows, rows[0]]],
                         ids=["lost", "repeated"])
def test_other_number_of_rows_is_an_error(tmp_path, config, human, gpt4_pair, change):
    """A lost or repeated row is an error with both counts."""
    changed = change(human)
    with pytest.raises(InvalidDataset, match=f"has {len(changed)} rows, expected {len(human)}"):
        load(tmp_path, config, changed, gpt4_pair)


@pytest.mark.parametrize("winner", ["model_c", "", "Model_A", "both"])
def test_unknown_winner_is_an_error(tmp_path, config, human, gpt4_pair, winner):
    """A winner that is no winner is named with its question."""
    human[5]["winner"] = winner
    with pytest.raises(InvalidDataset, match=f"unknown winner '{winner}' at question "
                                             f"{human[5]['question_id']}"):
        load(tmp_path, config, human, gpt4_pair)


@pytest.mark.parametrize("split", ["human", "gpt4_pair"])
def test_other_text_is_a_loud_warning(tmp_path, config, human, gpt4_pair, split):
    """Right labels with another text load, with a warning, and are recorded as not matching."""
    rows = {"human": human, "gpt4_pair": gpt4_pair}[split]
    rows[0] = copy.deepcopy(rows[0])
    rows[0]["conversation_a"][1]["content"] += "!"
    with pytest.warns(TextDiffers, match=f"the conversations of the {split} split differ"):
        judgments = load(tmp_path, config, human, gpt4_pair)
    assert judgments.content_matches == {"human": True, "gpt4_pair": True} | {split: False}


@pytest.mark.parametrize("split", ["human", "gpt4_pair"])
def test_missing_split_is_an_error(tmp_path, config, human, gpt4_pair, split):
    """A folder without one of the splits is an error that names the file it wants."""
    folder = write_splits(tmp_path / "data", human, gpt4_pair)
    (folder / f"{split}.parquet").unlink()
    with pytest.raises(InvalidDataset, match=rf"there is no {split}\*\.parquet below "):
        load_judgments(config, folder)


def test_missing_folder_is_an_error(tmp_path, config):
    """A folder that does not exist is an error too, and the hub is not asked instead."""
    with pytest.raises(InvalidDataset, match="there is no human"):
        load_judgments(config, tmp_path / "nowhere")


@pytest.mark.parametrize("column", ["winner", "judge", "conversation_b", "turn"])
def test_missing_column_is_an_error(tmp_path, config, human, gpt4_pair, column):
    """A file without one of the published columns is an error naming file and column."""
    without = [{key: value for key, value in row.items() if key != column} for row in human]
    with pytest.raises(InvalidDataset, match=f"human.parquet has no column '{column}'"):
        load(tmp_path, config, without, gpt4_pair)


@pytest.mark.parametrize("damage", ["empty", "text", "truncated", "middle"])
def test_corrupt_parquet_is_one_sentence(tmp_path, config, human, gpt4_pair, damage):
    """A damaged file is one sentence that names it, on one line."""
    path = write_splits(tmp_path / "data", human, gpt4_pair) / "human.parquet"
    content = path.read_bytes()
    path.write_bytes({"empty": b"", "text": b"question_id,turn\n1,2\n",
                      "truncated": content[:-100],
                      "middle": content[:200] + bytes(400) + content[600:]}[damage])
    with pytest.raises(InvalidDataset, match="human.parquet cannot be read as parquet: ") as caught:
        load_judgments(config, path.parent)
    assert "\n" not in str(caught.value)


def test_two_conversations_of_one_model_on_one_question_are_an_error(human, gpt4_pair):
    """A model has one conversation per question; a second one is an error naming both."""
    human[0] = copy.deepcopy(human[0])
    human[0]["conversation_a"][3]["content"] = "Something else."
    with pytest.raises(InvalidDataset, match=f"^question 1: the conversation of {MODELS[0]} "):
        Judgments(human, gpt4_pair, {}).conversations()


@pytest.mark.parametrize("n_messages", [2, 3, 5])
def test_conversation_of_another_length_is_an_error(human, gpt4_pair, n_messages):
    """A conversation has four messages; fewer or more are an error."""
    rows = [row for row in copy.deepcopy(human + gpt4_pair) if row["question_id"] == 1]
    for row in rows:
        for side in ("a", "b"):
            row[f"conversation_{side}"] = (row[f"conversation_{side}"] * 2)[:n_messages]
    with pytest.raises(InvalidDataset, match="is not one conversation of four messages"):
        Judgments(rows, [], {}).conversations()


def test_digest_against_definition():
    """The digest is sha256 over the sorted JSON lines, as the configuration file defines it."""
    rows = [{"b": "é", "a": 2}, {"a": 1, "b": "x"}]
    assert digest(rows) == digest(rows[::-1]) == (
        "5598e51b84fbd5d3bd456392155d848ff89dd199c70be2ae31575108b6fde663")


def test_swapping_a_row_changes_its_digest(human):
    """The order of the two models is part of the published labels."""
    assert digest(human) != digest([swapped(human[0]), *human[1:]])


def test_registered_data_is_what_the_configuration_says(request, study):
    """The published judgments on this machine have the registered rows, labels and text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_judgments(study.dataset, judgments_folder(request.config.rootpath))
    assert found.content_matches == {"human": True, "gpt4_pair": True}
    votes = [row["winner"] for row in found.human]
    assert [votes.count(side) for side in ("model_a", "model_b", "tie")] == [1293, 1282, 780]
    annotators = [row["judge"] for row in found.human]
    assert len(set(annotators)) == 65
    assert sum(name.startswith("expert_") for name in annotators) == 2668
    assert sum(name.startswith("author_") for name in annotators) == 687
    assert [sum(row["turn"] == turn for row in found.human) for turn in (1, 2)] == [1689, 1666]
    ordered = {(row["question_id"], row["turn"], row["model_a"], row["model_b"])
               for row in found.human}
    assert len(ordered) == 2396
    assert len({(*unit[:2], frozenset(unit[2:])) for unit in ordered}) == 1814


def test_split_is_checked_before_its_text(human, config):
    """A wrong label is an error even where the text differs as well, with no warning first."""
    human[0] = {**human[0], "winner": "tie", "conversation_a": []}
    with pytest.raises(InvalidDataset, match="^the labels of the human split"):
        check_split("human", human, config.splits["human"])
