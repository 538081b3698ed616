"""What a judge's own chat template may do, and which option tokens are accepted."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lengthmirror.encoding import PromptEncoder
from lengthmirror.errors import InvalidJudge

from .tiny import BOS, CHAT, CONTEXT_LIMIT, byte_tokenizer, tiny_rung

PROMPT = "Which is better, A or B?"
BODY = CHAT.removeprefix("{{ bos_token }}")


def encoder(templates, tokenizer, **rung):
    """An encoder of the tiny rung."""
    return PromptEncoder(tiny_rung(**rung), tokenizer, templates, CONTEXT_LIMIT)


def shown(templates, chat_template, **rung):
    """The whole prompt that a chat template makes, as text."""
    tokenizer = byte_tokenizer(chat_template)
    return tokenizer.decode(encoder(templates, tokenizer, **rung).encode(PROMPT, "u"))


@pytest.mark.parametrize("call", ["{{ strftime_now('%d %b %Y') }}", "{{ date_string }}"])
def test_template_that_inserts_the_date_gets_the_frozen_one(templates, call):
    """Both common ways to insert today's date give the registered date instead."""
    text = shown(templates, "{{ bos_token }}Today Date: " + call + "\n" + BODY)
    assert text.startswith(f"{BOS}Today Date: 03 Feb 2020\n")


def test_template_whose_date_format_is_computed_is_refused(templates):
    """A date that cannot be frozen refuses the judge by name instead of showing today's."""
    template = "{% set how = '%d' %}{{ bos_token }}{{ strftime_now(how) }}" + BODY
    with pytest.raises(InvalidJudge, match="^tiny: its chat template .* date format is computed"):
        encoder(templates, byte_tokenizer(template))


@pytest.mark.parametrize("start", ["", "\n", "  {% if true %}x{% endif %}", "\n\n {{ 1 }}"])
def test_freezing_the_date_changes_nothing_else(templates, start):
    """White space at the start of a template that asks for the date is what it was."""
    asks = "{% if false %}{{ strftime_now('%d') }}{% endif %}"
    with_date, without = (shown(templates, start + BODY + end, bos="none") for end in (asks, ""))
    assert with_date == without


@pytest.mark.parametrize("template", ["{{ raise_exception('not today') }}", "{{ 1 + 'a' }}"])
def test_template_that_fails_is_refused_by_name(templates, template):
    """Whatever a chat template raises is one sentence that names the judge."""
    with pytest.raises(InvalidJudge, match="^tiny: its chat template cannot be rendered"):
        encoder(templates, byte_tokenizer(template))


def test_template_that_rejects_a_system_role_never_sees_one(templates):
    """A template that raises on a system message is served, since none is ever passed."""
    guard = ("{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}"
             "{% endif %}")
    assert shown(templates, "{{ bos_token }}" + guard + BODY) == shown(templates, CHAT)


def test_template_sees_one_user_message_and_a_generation_prompt(templates):
    """The judge is given exactly one message, from the user, and then the turn to answer."""
    probe = "{{ bos_token }}{{ messages | length }} {{ messages[0]['role'] }} {{ tools is none }}"
    text = shown(templates, probe + BODY)
    assert text.startswith(f"{BOS}1 user True") and text.endswith("<|end|>\n<|judge|>\n")


@pytest.mark.parametrize("condition", ["enable_thinking", "enable_thinking is not defined or "
                                                          "enable_thinking"])
def test_thinking_modes_are_off(templates, condition):
    """A template that thinks by default or on demand is told not to."""
    template = CHAT + "{% if " + condition + " %}<think>{% else %}<think></think>{% endif %}"
    assert shown(templates, template).endswith("<think></think>")


def test_plain_text_of_the_template_is_kept_around_the_prompt(templates):
    """Text that a template writes beside the prompt, outside control tokens, is kept."""
    content = "{{ message['content'] }}"
    template = CHAT.replace(content, f"Read this: {content} Thanks.")
    assert f"<|user|>\nRead this: {PROMPT} Thanks.<|end|>" in shown(templates, template)


@pytest.mark.parametrize("times, content", [(0, ""), (2, "{{ message['content'] }}" * 2)])
def test_template_that_does_not_show_the_prompt_once_is_refused(templates, times, content):
    """A template that drops or repeats the prompt is refused with the number of times."""
    tokenizer = byte_tokenizer(CHAT.replace("{{ message['content'] }}", content))
    with pytest.raises(InvalidJudge, match=f"its chat template shows the prompt {times} times"):
        encoder(templates, tokenizer)


def test_chat_mode_needs_a_chat_template(templates):
    """A base model registered as a chat judge is refused."""
    with pytest.raises(InvalidJudge, match="tiny: .* no chat template"):
        encoder(templates, byte_tokenizer(None))


def test_options_are_the_tokens_after_the_prompt(templates):
    """In context, each option is one token, and the two differ."""
    tokenizer = byte_tokenizer()
    ids = encoder(templates, tokenizer).option_ids(PROMPT)
    assert tokenizer.convert_ids_to_tokens(ids) == ["A", "B"]


def test_options_of_a_base_model_carry_their_space(templates):
    """In plain mode the option is the token of space and letter, not the letter alone."""
    tokenizer = byte_tokenizer(None, (("Ġ", "A"), ("Ġ", "B")))
    ids = encoder(templates, tokenizer, prompt_mode="plain", bos="add").option_ids(PROMPT)
    assert tokenizer.convert_ids_to_tokens(ids) == ["ĠA", "ĠB"]


def test_option_of_two_tokens_is_refused(templates):
    """An option that takes two tokens refuses the judge by name, with the tokens."""
    with pytest.raises(InvalidJudge, match=r"tiny: the option ' A' is not exactly one new token"):
        encoder(templates, byte_tokenizer(None), prompt_mode="plain", bos="add").option_ids(PROMPT)


def test_option_that_merges_with_a_plain_prompt_is_refused(templates):
    """An option whose token also swallows the prompt's last token refuses the judge."""
    merges = (("Ġ", "A"), ("Ġ", "B"), (":", "ĠB"))
    tokenizer = byte_tokenizer(None, merges)
    with pytest.raises(InvalidJudge, match="tiny: the option ' B' is not exactly one new token"):
        encoder(templates, tokenizer, prompt_mode="plain", bos="add").option_ids(PROMPT)


def test_option_that_merges_with_a_chat_template_is_refused(templates):
    """The same in a chat: the line break that ends the template may not merge with the letter."""
    with pytest.raises(InvalidJudge, match="tiny: the option 'A' is not exactly one new token"):
        encoder(templates, byte_tokenizer(CHAT, (("Ċ", "A"),))).option_ids(PROMPT)


def test_option_that_changes_the_plain_prompts_own_tokens_is_refused(templates):
    """One more token is not enough: the prompt's own tokens must stay what they were."""
    tokenizer = byte_tokenizer(None, (("Ġ", "A"), ("Ġ", "B"), (":", "ĠA"), ("r", ":")))
    with pytest.raises(InvalidJudge, match="tiny: the option ' A' is not exactly one new token"):
        encoder(templates, tokenizer, prompt_mode="plain", bos="add").option_ids(PROMPT)


def test_option_that_changes_the_chat_templates_own_tokens_is_refused(templates):
    """The same in a chat: two line breaks that are one token without the letter, two with it."""
    tokenizer = byte_tokenizer(CHAT.replace("<|judge|>\n", "<|judge|>\n\n"),
                               (("Ċ", "A"), ("Ċ", "Ċ")))
    with pytest.raises(InvalidJudge, match="tiny: the option 'A' is not exactly one new token"):
        encoder(templates, tokenizer).option_ids(PROMPT)


def test_options_unknown_to_the_tokenizer_are_refused(templates):
    """A tokenizer that knows neither letter gives one id for both, and the judge is refused."""
    words = Tokenizer(models.WordLevel({"[UNK]": 0, BOS: 1}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", bos_token=BOS)
    with pytest.raises(InvalidJudge, match="tiny: both options are the token 0"):
        encoder(templates, tokenizer, prompt_mode="plain", bos="add").option_ids(PROMPT)
