"""Prompt texts: one pass of substitution, and the digests that key every score."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror.errors import InvalidConfig
from lengthmirror.pairs import read_pairs
from lengthmirror.prompts import fill, prompt_sha256, prompt_text

from ..local_files import conversations
from ..strategies import PROPERTIES


@pytest.fixture(scope="module")
def known(request):
    """Right digests of registered prompts, computed apart from this code."""
    path = request.config.rootpath / "tests/golden/known_prompts.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_inserted_text_is_never_read_again(templates):
    """An answer that spells another field is shown as it is and pulls nothing in."""
    prompt = prompt_text(templates, 1, ["Q {answer_a}", "{answer_b} {question}"], ["Q", "SECRET"])
    assert "[Question]\nQ {answer_a}\n" in prompt
    assert "[Answer A]\n{answer_b} {question}\n" in prompt
    assert prompt.count("SECRET") == 1


def test_second_turn_never_reads_inserted_text_again(templates):
    """The four answers of turn 2 may each spell any field of the template."""
    slot_a = ["{answer_b_2}", "{question_2}", "{answer_a_1}", "{answer_b_1}"]
    slot_b = ["unused", "B1", "unused", "B2"]
    prompt = prompt_text(templates, 2, slot_a, slot_b)
    assert all(prompt.count(text) == 1 for text in (*slot_a, "B1", "B2"))


@PROPERTIES
@given(first=st.text(), second=st.text())
def test_every_answer_stands_verbatim_between_its_marks(first, second):
    """Backslashes, braces, line breaks and lone marks of any answer survive substitution."""
    fields = {"answer_a": first, "answer_b": second}
    prompt = fill("[A]\n{answer_a}\n[B]\n{answer_b}\n[end]", fields)
    assert prompt == "[A]\n" + first + "\n[B]\n" + second + "\n[end]"


def test_second_turn_shows_both_conversations_in_order(templates):
    """Turn 2 shows both questions, then A's two replies, then B's two."""
    prompt = prompt_text(templates, 2, ["Q1", "A1", "Q2", "A2"], ["Q1", "B1", "Q2", "B2"])
    places = [prompt.index(f"\n{text}\n") for text in ("Q1", "Q2", "A1", "A2", "B1", "B2")]
    assert places == sorted(places)
    assert "follow-up question is better" in prompt


def test_first_turn_shows_nothing_of_the_second(templates):
    """A judge of turn 1 sees neither the follow-up question nor its replies."""
    slots = [["Q1", answer, "LATER", "LATER"] for answer in ("A1", "B1")]
    prompt = prompt_text(templates, 1, *slots)
    assert "LATER" not in prompt


def test_swapping_the_slots_swaps_only_the_answers(templates):
    """The two orderings of a unit are one text with the answers exchanged."""
    one, other = ["Q", "first answer"], ["Q", "second answer"]
    there, back = prompt_text(templates, 1, one, other), prompt_text(templates, 1, other, one)
    assert there != back
    assert back == there.replace(one[1], "\0").replace(other[1], one[1]).replace("\0", other[1])


def test_unknown_field_of_a_template_is_an_error(templates):
    """A template with a misspelt field is refused by the field's name."""
    with pytest.raises(InvalidConfig, match=r"the field \{answr_a\} is unknown"):
        prompt_text({**templates, "turn_1": "{question} {answr_a}"}, 1, ["Q", "A"], ["Q", "B"])


@pytest.mark.parametrize("number", range(2))
def test_toy_prompts_have_their_known_digests(templates, known, number):
    """The two toy prompts have the digests computed apart from this code."""
    toy = known["toy"][number]
    prompt = prompt_text(templates, 1, [toy["question"], toy["answer_a"]],
                         [toy["question"], toy["answer_b"]])
    assert prompt_sha256(prompt) == toy["prompt_sha256"]


def test_unit_table_holds_the_known_digests(request, known):
    """The committed unit table has the known digests of both turns, without any text at hand."""
    pairs = read_pairs(request.config.rootpath / "artifacts/pairs.parquet")
    found = {}
    for side, digests in (("ab", pairs.prompt_sha256_ab), ("ba", pairs.prompt_sha256_ba)):
        slots = (pairs.model_a, pairs.model_b)[::1 if side == "ab" else -1]
        found.update(zip(zip(pairs.question_id, pairs.turn, *slots), digests))
    known_units = {(prompt["question_id"], prompt["turn"], prompt["slot_a"], prompt["slot_b"]):
                   prompt["prompt_sha256"] for prompt in known["prompts"]}
    voted_on = found.keys() & known_units.keys()
    assert {turn for _, turn, *_ in voted_on} == {1, 2} and len(voted_on) > 5
    assert {unit: found[unit] for unit in voted_on} == {unit: known_units[unit]
                                                        for unit in voted_on}


@pytest.mark.parametrize("number", range(12))
def test_known_prompts_of_the_data_set_have_their_digests(request, templates, known, number):
    """The texts of twelve orderings, of both turns, give the known digests (needs the data)."""
    root, prompt = request.config.rootpath, known["prompts"][number]
    texts = conversations(root)
    slots = (texts[prompt["question_id"], prompt[slot]] for slot in ("slot_a", "slot_b"))
    assert prompt_sha256(prompt_text(templates, prompt["turn"], *slots)) == prompt["prompt_sha256"]


def test_digest_is_over_utf8(templates):
    """A prompt outside ASCII is digested as UTF-8, and one changed character changes the digest."""
    assert prompt_sha256("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert prompt_sha256("é") != prompt_sha256("e\u0301")
