"""From prompt text to token ids: one BOS, control tokens only where the template puts them."""

import pytest
from tokenizers import processors

from lengthmirror.encoding import PromptEncoder, plain_ids
from lengthmirror.errors import InvalidJudge

from .tiny import BOS, CHAT, CONTEXT_LIMIT, CONTROLS, END, NO_BOS, byte_tokenizer, tiny_rung

PROMPT = "Which is better, A or B?"
LETTERS = (("Ġ", "A"), ("Ġ", "B"))


def encoder(templates, tokenizer=None, limit=CONTEXT_LIMIT, **rung):
    """An encoder of the tiny rung."""
    return PromptEncoder(tiny_rung(**rung), tokenizer or byte_tokenizer(), templates, limit)


def plain_encoder(templates, tokenizer=None, **rung):
    """An encoder of a base model without a chat template."""
    tokenizer = tokenizer or byte_tokenizer(None, LETTERS)
    return encoder(templates, tokenizer, **{"prompt_mode": "plain", "bos": "add", **rung})


def double_bos_tokenizer(chat_template, **options):
    """A tokenizer that also puts a BOS of its own before everything it is asked to encode."""
    tokenizer = byte_tokenizer(chat_template, **options)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.bos_token_id)])
    return tokenizer


def test_chat_prompt_is_the_rendered_template_against_transformers(templates):
    """A prompt without control text gets the ids that transformers gives the rendered template."""
    tokenizer = byte_tokenizer()
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": PROMPT}],
                                             tokenize=False, add_generation_prompt=True)
    expected = tokenizer(rendered, add_special_tokens=False)["input_ids"]
    assert encoder(templates, tokenizer).encode(PROMPT, "u") == expected


@pytest.mark.parametrize("make", [byte_tokenizer, double_bos_tokenizer])
def test_chat_template_with_bos_gives_exactly_one(templates, make):
    """bos = template: the one BOS is the template's, also when the tokenizer would add another."""
    tokenizer = make(CHAT)
    ids = encoder(templates, tokenizer).encode(PROMPT, "u")
    assert ids[0] == tokenizer.bos_token_id and ids.count(tokenizer.bos_token_id) == 1


@pytest.mark.parametrize("make", [byte_tokenizer, double_bos_tokenizer])
def test_plain_prompt_gets_exactly_one_bos(templates, make):
    """bos = add: one BOS is put first, also when the tokenizer would add another."""
    tokenizer = make(None, merges=LETTERS)
    ids = plain_encoder(templates, tokenizer).encode(PROMPT, "u")
    assert ids[0] == tokenizer.bos_token_id and ids.count(tokenizer.bos_token_id) == 1
    assert tokenizer.decode(ids[1:]) == f"{PROMPT}\n\nBetter answer:"


@pytest.mark.parametrize("options", [{}, {"bos_token": None}])
def test_judge_that_wants_no_bos_gets_none(templates, options):
    """bos = none: no BOS, whether or not the tokenizer has one."""
    tokenizer = byte_tokenizer(NO_BOS, **options)
    ids = encoder(templates, tokenizer, bos="none").encode(PROMPT, "u")
    assert tokenizer.convert_tokens_to_ids(BOS) not in ids


@pytest.mark.parametrize("defect, template, bos", [
    ("template writes none", NO_BOS, "template"),
    ("template writes two", "{{ bos_token }}" + CHAT, "template"),
    ("template writes one nobody wants", CHAT, "none"),
    ("template writes none to add to", NO_BOS, "add"),
])
def test_wrong_number_of_bos_is_refused(templates, defect, template, bos):
    """A chat template that does not fit the registered bos is refused by the rung's name."""
    with pytest.raises(InvalidJudge, match=f"^tiny: the prompt begins with .* bos = '{bos}'"):
        encoder(templates, byte_tokenizer(template), bos=bos).encode(PROMPT, "u")


@pytest.mark.parametrize("bos", ["template", "none"])
def test_plain_mode_needs_the_bos_its_template_registers(templates, bos):
    """The plain template registers a BOS; a rung that says otherwise is refused."""
    with pytest.raises(InvalidJudge, match=f"bos = '{bos}' contradicts the plain template"):
        plain_encoder(templates, bos=bos)


def test_adding_a_bos_the_tokenizer_lacks_is_refused(templates):
    """bos = add with a tokenizer that has no BOS token is refused."""
    with pytest.raises(InvalidJudge, match="its tokenizer has no BOS token"):
        plain_encoder(templates, byte_tokenizer(None, LETTERS, bos_token=None))


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("make", [encoder, plain_encoder])
def test_control_text_inside_an_answer_stays_text(templates, make, control):
    """An answer that spells a control token, its own end of turn included, adds no control id."""
    tokenizer = byte_tokenizer(CHAT, LETTERS)
    judge, ids_of = make(templates, tokenizer), set(tokenizer.convert_tokens_to_ids(list(CONTROLS)))
    clean = judge.encode("It ends here. Truly.", "u")
    spelt = judge.encode(f"It ends here.{control} Truly.", "u")
    assert [i for i in spelt if i in ids_of] == [i for i in clean if i in ids_of]
    assert len(spelt) == len(clean) + len(control)
    assert f"It ends here.{control} Truly." in tokenizer.decode(spelt)


def test_control_text_is_counted_as_the_text_it_is(templates):
    """Length in tokens counts control text as ordinary text and adds nothing."""
    tokenizer = double_bos_tokenizer(CHAT)
    assert len(plain_ids(tokenizer, END)) == len(END)
    assert encoder(templates, tokenizer).count_tokens("abc") == len("abc")


def test_prompt_as_long_as_the_context_is_read_whole(templates):
    """A prompt that fills the context window to the last token is neither cut nor refused."""
    length = len(encoder(templates).encode(PROMPT, "u"))
    assert len(encoder(templates, limit=length).encode(PROMPT, "u")) == length


def test_prompt_longer_than_the_context_names_unit_length_and_limit(templates):
    """One token too many is an error that names the unit, its length and the limit."""
    length = len(encoder(templates).encode(PROMPT, "u"))
    with pytest.raises(InvalidJudge, match=f"tiny: the prompt of question 3, turn 1 has {length} "
                                           f"tokens, more than the context window of {length - 1}"):
        encoder(templates, limit=length - 1).encode(PROMPT, "question 3, turn 1")
