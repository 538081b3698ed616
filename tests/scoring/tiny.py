"""Judges small enough to make on the spot: a tokenizer of single bytes and a two-layer Llama."""

import datetime
import os
from dataclasses import replace
from pathlib import Path

from lengthmirror.ladder import Rung, Weights

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SLUG, HUB, REVISION = "tiny", "invented/tiny", "a" * 40
DATE = datetime.date(2020, 2, 3)
CONTEXT_LIMIT = 4096
BOS, EOS, USER, JUDGE, END = CONTROLS = ("<s>", "</s>", "<|user|>", "<|judge|>", "<|end|>")
CHAT = ("{{ bos_token }}{% for message in messages %}<|user|>\n{{ message['content'] }}<|end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|judge|>\n{% endif %}")
NO_BOS = CHAT.removeprefix("{{ bos_token }}")
LAYERS, HIDDEN = 2, 32


def tiny_rung(**changes) -> Rung:
    """A rung of the tiny Llama in hub layout; ``weights`` and every field can be changed."""
    weights = Weights(format="hub", file=None, sha256=None, bytes=None, hub=HUB,
                      revision=REVISION, mirror=None)
    rung = Rung(slug=SLUG, model="tiny random Llama", family="tiny", parameters=1,
                loaded_parameters=1, prompt_mode="chat", bos="template", dtype="float32",
                attention="sdpa", device="cpu", threads=1, path="from_scratch",
                licence="Apache-2.0", unscored_reason=None, weights=weights, template_date=DATE)
    return replace(rung, **changes)


def byte_tokenizer(chat_template: str | None = CHAT, merges: tuple[tuple[str, str], ...] = (),
                   **options):
    """One token per byte, the special tokens of ``CONTROLS``, and what ``merges`` joins.

    Args:
        chat_template: Jinja text, or None for a base model.
        merges: pairs of byte-level texts ("Ġ" is a space, "Ċ" a line break).
        options: passed on to the tokenizer class, such as ``bos_token=None``.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    texts = [*CONTROLS, *sorted(pre_tokenizers.ByteLevel.alphabet()),
             *("".join(pair) for pair in merges)]
    inner = Tokenizer(models.BPE({text: number for number, text in enumerate(texts)},
                                 list(merges)))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(CONTROLS))
    named = {"bos_token": BOS, "eos_token": EOS, **options}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, extra_special_tokens=[USER, JUDGE, END],
        clean_up_tokenization_spaces=False, **named)
    tokenizer.chat_template = chat_template
    return tokenizer


def tiny_llama(tokenizer, seed: int = 0):
    """A randomly initialised Llama whose logits differ clearly from prompt to prompt."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=HIDDEN, intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=CONTEXT_LIMIT, initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def save_hub_layout(folder: Path, model, tokenizer, max_shard_size: str = "1GB") -> Path:
    """Saves a judge as ``locate_weights`` expects a fetched hub repository: with its marker."""
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    tokenizer.save_pretrained(folder)
    (folder / ".revision").write_text(f"{HUB}@{REVISION}\n", encoding="utf-8")
    return folder


def parameter_count(model) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
