"""Prompt texts: the registered templates filled with one unit's questions and answers."""

import hashlib
import re
from collections.abc import Mapping

from .errors import InvalidConfig

FIELD = re.compile(r"\{([a-z_0-9]+)\}")


def fill(template: str, fields: Mapping[str, str]) -> str:
    """Substitutes every ``{field}`` in one pass; inserted text is never scanned again.

    Raises:
        InvalidConfig: the template names a field that is not given.
    """
    def value(match: re.Match) -> str:
        if match[1] not in fields:
            raise InvalidConfig(f"prompt_templates.json: the field {match[0]} is unknown, "
                                f"expected one of {', '.join(sorted(fields))}.")
        return fields[match[1]]
    return FIELD.sub(value, template)


def prompt_text(templates: Mapping, turn: int, slot_a: list[str], slot_b: list[str]) -> str:
    """The judge-independent prompt text of one ordering.

    Args:
        templates: the registered prompt_templates.json.
        turn: 1 or 2, the judged turn.
        slot_a: the conversation in slot A: question, answer, follow-up question, answer.
        slot_b: the conversation in slot B, with the same questions.
    """
    if turn == 1:
        fields = {"question": slot_a[0], "answer_a": slot_a[1], "answer_b": slot_b[1]}
    else:
        fields = {"question_1": slot_a[0], "question_2": slot_a[2],
                  "answer_a_1": slot_a[1], "answer_a_2": slot_a[3],
                  "answer_b_1": slot_b[1], "answer_b_2": slot_b[3]}
    return fill(templates[f"turn_{turn}"], fields)


def prompt_sha256(text: str) -> str:
    """The digest that keys a prompt: over the UTF-8 text, before any chat template."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
