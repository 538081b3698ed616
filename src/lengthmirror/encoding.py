"""From a prompt text to the token ids a judge reads, and to its two option tokens."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidJudge
from .ladder import Rung

MARK = "\ue000prompt\ue001"
DATE_CALL = re.compile(r"""strftime_now\(\s*(['"])(.*?)\1\s*\)""")
DATE_MACRO = ("{% macro strftime_now(format) %}{{ frozen_dates[format] if format in frozen_dates "
              "else raise_exception('its date format is computed') }}{% endmacro %}\n")


@dataclass(frozen=True)
class PromptFrame:
    """What a judge's mode puts around a prompt text.

    ``head`` and ``tail`` are token ids beyond the text's own segment; ``before`` and ``after``
    are plain text that touches the prompt and is tokenised together with it.
    """
    head: tuple[int, ...]
    before: str
    after: str
    tail: tuple[int, ...]
    options: tuple[str, str]


class PromptEncoder:
    """Turns prompt texts into token ids for one rung (PREREGISTRATION.md, the prompt)."""

    def __init__(self, rung: Rung, tokenizer: Any, templates: Mapping, context_limit: int):
        self._rung, self._tokenizer, self._limit = rung, tokenizer, context_limit
        self._frame = (_chat_frame if rung.prompt_mode == "chat" else _plain_frame)(
            rung, tokenizer, templates)

    def encode(self, text: str, unit: str) -> list[int]:
        """Token ids of a whole prompt, control tokens only where the template puts them.

        Args:
            text: the prompt text.
            unit: how an error names the prompt.

        Raises:
            InvalidJudge: a wrong number of BOS tokens, or longer than the context window.
        """
        frame = self._frame
        ids = [*frame.head, *self._plain(frame.before + text + frame.after), *frame.tail]
        self._check_bos(ids)
        if len(ids) > self._limit:
            raise InvalidJudge(f"{self._rung.slug}: the prompt of {unit} has {len(ids)} tokens, "
                               f"more than the context window of {self._limit}.")
        return ids

    def option_ids(self, text: str) -> tuple[int, int]:
        """The ids of the two options right after this prompt.

        Raises:
            InvalidJudge: an option is not exactly one new token in context, or both are the same.
        """
        first, second = (self._option_id(text, option) for option in self._frame.options)
        if first == second:
            raise InvalidJudge(f"{self._rung.slug}: both options are the token {first}.")
        return first, second

    def count_tokens(self, text: str) -> int:
        """Tokens of a text on its own, nothing added."""
        return len(self._plain(text))

    def _plain(self, text: str) -> list[int]:
        return plain_ids(self._tokenizer, text)

    def _option_id(self, text: str, option: str) -> int:
        frame = self._frame
        if frame.tail:
            new = self._after_control_tokens(frame, option)
        else:
            base = self._plain(frame.before + text + frame.after)
            longer = self._plain(frame.before + text + frame.after + option)
            new = longer[len(base):] if longer[:len(base)] == base else []
        if len(new) != 1:
            raise InvalidJudge(f"{self._rung.slug}: the option {option!r} is not exactly one new "
                               f"token after the prompt (it gives {new}).")
        return new[0]

    def _after_control_tokens(self, frame: PromptFrame, option: str) -> list[int]:
        rendered = self._tokenizer.decode(list(frame.tail), skip_special_tokens=False)
        ids = _with_control_tokens(self._tokenizer, rendered + option)
        return ids[len(frame.tail):] if tuple(ids[:len(frame.tail)]) == frame.tail else []

    def _check_bos(self, ids: list[int]) -> None:
        mode, bos = self._rung.bos, self._tokenizer.bos_token_id
        begins = bos is not None and ids[0] == bos
        if mode == "none" and begins or mode != "none" and (not begins or ids[1] == bos):
            raise InvalidJudge(f"{self._rung.slug}: the prompt begins with the tokens {ids[:2]}, "
                               f"which does not fit bos = {mode!r} with the BOS token {bos}.")


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """Token ids of text as data: text that spells a control token stays text."""
    return tokenizer(text, add_special_tokens=False, split_special_tokens=True,
                     verbose=False)["input_ids"]


def _with_control_tokens(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def _plain_frame(rung: Rung, tokenizer: Any, templates: Mapping) -> PromptFrame:
    mode = templates["plain"]
    before, after = mode["text"].split("{prompt}")
    if mode["add_bos"] != (rung.bos == "add"):
        raise InvalidJudge(f"{rung.slug}: bos = {rung.bos!r} contradicts the plain template, "
                           f"whose add_bos is {mode['add_bos']}.")
    if rung.bos == "add" and tokenizer.bos_token_id is None:
        raise InvalidJudge(f"{rung.slug}: bos = 'add', but its tokenizer has no BOS token.")
    head = (tokenizer.bos_token_id,) if rung.bos == "add" else ()
    return PromptFrame(head, before, after, (), tuple(mode["options"]))


def _chat_frame(rung: Rung, tokenizer: Any, templates: Mapping) -> PromptFrame:
    """Splits the rendered chat template at the control tokens nearest to the prompt."""
    mode = templates["chat"]
    if not tokenizer.chat_template:
        raise InvalidJudge(f"{rung.slug}: prompt_mode = 'chat', but its tokenizer has no chat "
                           "template.")
    messages = [{**message, "content": message["content"].replace("{prompt}", MARK)}
                for message in mode["messages"]]
    rendered = _rendered(rung, tokenizer, messages, mode["add_generation_prompt"])
    if rendered.count(MARK) != 1:
        raise InvalidJudge(f"{rung.slug}: its chat template shows the prompt "
                           f"{rendered.count(MARK)} times, expected once.")
    left, right = rendered.split(MARK)
    controls = _control_tokens(tokenizer)
    cut_left = max((left.rfind(token) + len(token) for token in controls if token in left),
                   default=0)
    cut_right = min((right.find(token) for token in controls if token in right),
                    default=len(right))
    return PromptFrame(tuple(_with_control_tokens(tokenizer, left[:cut_left])), left[cut_left:],
                       right[:cut_right],
                       tuple(_with_control_tokens(tokenizer, right[cut_right:])),
                       tuple(mode["options"]))


def _rendered(rung: Rung, tokenizer: Any, messages: list[dict], generation_prompt: bool) -> str:
    try:
        return tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=generation_prompt,
            enable_thinking=False, **_frozen_date(tokenizer.chat_template, rung.template_date))
    except Exception as error:  # a template is a program of its own and may raise anything
        raise InvalidJudge(f"{rung.slug}: its chat template cannot be rendered for one user "
                           f"message ({' '.join(str(error).split())}).") from error


def _control_tokens(tokenizer: Any) -> set[str]:
    """Texts of the special tokens, also those without a named role."""
    added = tokenizer.added_tokens_decoder.values()
    return {*tokenizer.all_special_tokens, *(token.content for token in added if token.special)}


def _frozen_date(template: str, date: datetime.date) -> dict[str, Any]:
    """Template variables, and where needed the template, that stand in for today's date.

    transformers passes plain data on to a template and nothing callable, so ``strftime_now``
    becomes a macro over the formats that the template asks for.
    """
    variables: dict[str, Any] = {"date_string": date.strftime("%d %b %Y")}
    if "strftime_now" in template:
        formats = {match[1] for match in DATE_CALL.findall(template)}
        variables["frozen_dates"] = {text: date.strftime(text) for text in formats}
        variables["chat_template"] = DATE_MACRO + template
    return variables
