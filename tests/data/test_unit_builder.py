"""From judgments to unit rows: one row per unit, one vote per annotator, sorted models."""

import copy

import pytest

from lengthmirror.dataset import Judgments
from lengthmirror.errors import InvalidDataset
from lengthmirror.prompts import prompt_sha256, prompt_text
from lengthmirror.unit_builder import unit_rows

from .small_judgments import UNANIMOUS_TIE, swapped

N_UNITS = 42
VOTES = [f"votes_{side}_{kind}" for kind in ("expert", "author") for side in ("a", "tie", "b")]


def build(study, human, gpt4_pair):
    """Unit rows by unit, tokens counted as words."""
    judgments = Judgments(human, gpt4_pair, {})
    rows = unit_rows(judgments, study.templates, lambda text: len(text.split()))
    return {(row["question_id"], row["turn"], row["model_a"], row["model_b"]): row for row in rows}


def votes_of(row):
    """Vote counts of a row: expert a, tie, b, author a, tie, b."""
    return [row[name] for name in VOTES]


def first_unit(rows):
    """The unit of the first row, with its models in sorted order."""
    row = rows[0]
    return row["question_id"], row["turn"], *sorted((row["model_a"], row["model_b"]))


def test_both_stored_orders_of_a_pair_are_one_unit(study, human, gpt4_pair):
    """Votes stored with the models either way round fold into one unit in sorted order."""
    units = build(study, human, gpt4_pair)
    assert len(units) == N_UNITS
    assert all(model_a < model_b for *_, model_a, model_b in units)
    assert all(sum(votes_of(row)) == 3 for row in units.values())


def test_swapping_a_stored_row_changes_nothing(study, human, gpt4_pair):
    """A vote says the same with its models and conversations exchanged."""
    other_way = [swapped(row) for row in human]
    assert build(study, other_way, gpt4_pair) == build(study, human, gpt4_pair)


def test_order_of_rows_changes_nothing(study, human, gpt4_pair):
    """Rows in any order give the same units."""
    assert list(build(study, human[::-1], gpt4_pair[::-1]).items()) == list(
        build(study, human, gpt4_pair).items())


def test_votes_are_counted_by_side_and_kind_of_annotator(study, human, gpt4_pair):
    """Two experts and one author who agree are two expert votes and one author vote."""
    units = build(study, human, gpt4_pair)
    assert votes_of(units[UNANIMOUS_TIE]) == [0, 2, 0, 0, 1, 0]
    decided = [votes_of(row) for unit, row in units.items() if unit != UNANIMOUS_TIE]
    assert all(votes in ([2, 0, 0, 1, 0, 0], [0, 0, 2, 0, 0, 1]) for votes in decided)


@pytest.mark.parametrize("stored", [copy.copy, swapped])
def test_annotator_who_votes_twice_counts_once(study, human, gpt4_pair, stored):
    """The same vote of one annotator stored again, in either order, adds nothing."""
    again = [*human, stored(human[0])]
    assert build(study, again, gpt4_pair) == build(study, human, gpt4_pair)


@pytest.mark.parametrize("change", [
    lambda row: {**row, "winner": "tie"},
    lambda row: {**row, "winner": "model_b" if row["winner"] == "model_a" else "model_a"},
    lambda row: {**swapped(row), "winner": row["winner"]}], ids=["tie", "other", "other order"])
def test_annotator_who_contradicts_himself_is_an_error(study, human, gpt4_pair, change):
    """Two different votes of one annotator on one unit are an error that names all of it."""
    with pytest.raises(InvalidDataset, match="^the annotator author_1 gave two different votes on "
                                             "question 1, turn 1, heron against otter"):
        build(study, [*human, change(human[0])], gpt4_pair)


@pytest.mark.parametrize("judge, winner", [("robot_1", "model_a"), ("gpt4_pair", "model_b"),
                                           ("expert_1", "tie (inconsistent)")])
def test_vote_that_is_no_human_vote_is_an_error(study, human, gpt4_pair, judge, winner):
    """An annotator of an unknown kind, or a winner humans cannot give, is an error."""
    odd = {**human[0], "judge": judge, "winner": winner}
    others = [row for row in human if row is not human[0] and row["judge"] != judge]
    with pytest.raises(InvalidDataset, match="is not a vote of an expert or author"):
        build(study, [odd, *others], gpt4_pair)


@pytest.mark.parametrize("winner, expected", [("model_a", "model_a"), ("model_b", "model_b"),
                                              ("tie", "tie"),
                                              ("tie (inconsistent)", "tie (inconsistent)")])
def test_published_verdict_follows_the_sorted_models(study, human, gpt4_pair, winner, expected):
    """GPT-4's verdict is stored for the sorted pair, whichever way round it was published."""
    unit = first_unit(gpt4_pair)
    row = {**gpt4_pair[0], "model_a": unit[2], "model_b": unit[3], "winner": winner}
    for published in (row, swapped(row)):
        assert build(study, human, [published, *gpt4_pair[1:]])[unit]["gpt4_verdict"] == expected


def test_unit_without_a_published_verdict_is_an_error(study, human, gpt4_pair):
    """A unit that GPT-4 did not judge is an error naming it."""
    with pytest.raises(InvalidDataset, match="no verdict for question 1, turn 1, heron against"):
        build(study, human, gpt4_pair[1:])


def test_contradictory_published_verdicts_are_an_error(study, human, gpt4_pair):
    """Two different published verdicts on one unit are an error, not the last one read."""
    other = {**gpt4_pair[0], "winner": "tie" if gpt4_pair[0]["winner"] != "tie" else "model_a"}
    with pytest.raises(InvalidDataset, match="two different .* question 1, turn 1, heron against"):
        build(study, human, [*gpt4_pair, other])


def test_published_verdict_without_votes_makes_no_unit(study, human, gpt4_pair):
    """A pair that only GPT-4 judged is not a unit of the study."""
    unit = first_unit(human)
    without = [row for row in human if first_unit([row]) != unit]
    assert len(build(study, without, gpt4_pair)) == N_UNITS - 1


def test_lengths_are_of_the_judged_answer_and_of_the_conversation(study, human, gpt4_pair):
    """Characters are code points of the judged answer; a conversation is both answers together."""
    for row in human + gpt4_pair:
        for side in ("a", "b"):
            if (row["question_id"], row[f"model_{side}"]) == (1, "heron"):
                row[f"conversation_{side}"] = [{"content": text, "role": role} for text, role in (
                    ("Q", "user"), ("é𝔸 b", "assistant"), ("F", "user"), ("c d e", "assistant"))]
    units = build(study, human, gpt4_pair)
    first, second = units[1, 1, "heron", "otter"], units[1, 2, "heron", "otter"]
    assert (first["chars_a"], first["tokens_a"]) == (4, 2)
    assert (second["chars_a"], second["tokens_a"]) == (5, 3)
    for row in (first, second):
        assert (row["chars_conversation_a"], row["tokens_conversation_a"]) == (9, 5)


def test_prompt_digests_are_of_the_two_orderings(study, human, gpt4_pair):
    """A unit's two digests are those of the prompts with either answer in slot A."""
    texts = Judgments(human, gpt4_pair, {}).conversations()
    for (question_id, turn, *models), row in build(study, human, gpt4_pair).items():
        there, back = ((texts[question_id, first], texts[question_id, second])
                       for first, second in (models, reversed(models)))
        assert row["prompt_sha256_ab"] == prompt_sha256(prompt_text(study.templates, turn, *there))
        assert row["prompt_sha256_ba"] == prompt_sha256(prompt_text(study.templates, turn, *back))
