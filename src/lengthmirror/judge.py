"""A loaded judge: the logits of the last position of one prompt, by one forward pass."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from .chunked_attention import attention_in_chunks
from .encoding import PromptEncoder
from .errors import InvalidJudge, ScoringFailed
from .ladder import SHARED_PREFIX, Rung
from .scoring_plan import PromptScore
from .shared_prefix import check_layers, check_reuse, last_logits
from .weights import LocalWeights

CACHE_LINE = 64  # bytes; torch allocates in multiples of it
NOT_DETERMINISTIC = re.compile(r"(\S+) does not have a deterministic implementation")


class Judge:
    """A rung's model and tokenizer, ready to score.

    Loading switches deterministic algorithms on and fixes the number of threads for this process.
    """

    def __init__(self, rung: Rung, weights: LocalWeights, templates: Mapping):
        """Loads weights that ``weights.locate_weights`` has verified.

        Raises:
            InvalidJudge: an architecture transformers cannot load, another parameter count than
                the registered one, a prompt mode the tokenizer cannot serve, or a cache that
                cannot be reused where the path is shared_prefix.
        """
        make_deterministic(rung)
        self.rung = rung
        self.tokenizer = load_tokenizer(rung, weights)
        self.model = _load_model(rung, weights)
        self._check_parameters()
        if rung.path == SHARED_PREFIX:
            check_layers(self.model, rung.slug)
            with self._attention():
                check_reuse(self.model, rung.slug)
        self.encoder = PromptEncoder(rung, self.tokenizer, templates,
                                     self.model.config.get_text_config().max_position_embeddings)

    @property
    def tokenizer_sha256(self) -> str:
        return tokenizer_digest(self.tokenizer)

    def score(self, ids: list[int], option_ids: tuple[int, int], unit: str) -> PromptScore:
        """One forward pass over a whole prompt, no padding, no cache.

        Args:
            ids: token ids of the prompt.
            option_ids: the tokens of options A and B.
            unit: how an error names the prompt.

        Raises:
            ScoringFailed: a logit is not finite, or an operation has no deterministic form.
        """
        with torch.inference_mode(), self._named_operations():
            batch = torch.tensor([ids], device=self.model.device)
            logits = self.model(batch, use_cache=False, logits_to_keep=1).logits[0, -1].float()
        return prompt_score(logits, len(ids), option_ids, f"{self.rung.slug}: {unit}")

    def score_shared(self, prompts: list[list[int]], option_ids: tuple[int, int],
                     units: list[str]) -> tuple[list[PromptScore], int]:
        """All prompts of a group, each distinct prefix computed once.

        Args:
            prompts: token ids of each prompt.
            option_ids: the tokens of options A and B.
            units: how an error names each prompt.

        Returns:
            One score per prompt, and the number of tokens computed.

        Raises:
            ScoringFailed: a logit is not finite, or an operation has no deterministic form.
        """
        with self._attention(), self._named_operations():
            logits, computed = last_logits(self.model, prompts, self.rung.suffixes_per_forward)
        return [prompt_score(row, len(ids), option_ids, f"{self.rung.slug}: {unit}")
                for row, ids, unit in zip(logits, prompts, units)], computed

    def _attention(self) -> AbstractContextManager:
        """On the CPU, ``sdpa`` is computed in chunks: the same sums with less work."""
        rung = self.rung
        chunks = (rung.device == "cpu" and rung.attention == "sdpa"
                  and rung.suffixes_per_forward == 1)
        return attention_in_chunks(self.model) if chunks else nullcontext()

    @contextmanager
    def _named_operations(self) -> Iterator[None]:
        """Turns torch's refusal of an operation into an error that names it."""
        try:
            yield
        except RuntimeError as error:
            found = NOT_DETERMINISTIC.search(str(error))
            if not found:
                raise
            raise ScoringFailed(
                f"{self.rung.slug}: the operation {found[1]} has no deterministic form on the "
                f"device {self.rung.device!r}, so its logits could not be made again; score the "
                "judge on another device.") from error

    def _check_parameters(self) -> None:
        loaded = sum(parameter.numel() for parameter in self.model.parameters())
        if loaded != self.rung.loaded_parameters:
            raise InvalidJudge(f"{self.rung.slug}: the loaded model has {loaded} parameters, "
                               f"expected {self.rung.loaded_parameters}.")


def prompt_score(logits: torch.Tensor, n_tokens: int, option_ids: tuple[int, int],
                 unit: str) -> PromptScore:
    """The row of one prompt from the last position's logits, a float32 vector [vocabulary]."""
    if not bool(torch.isfinite(logits).all()):
        raise ScoringFailed(f"{unit}: the judge gave a logit that is not finite.")
    pair = logits[list(option_ids)]
    log_probabilities = (pair.double() - torch.logsumexp(logits.double(), dim=0)).float()
    return PromptScore(n_tokens, *pair.tolist(), *log_probabilities.tolist(),
                       int(torch.argmax(logits)))


def make_deterministic(rung: Rung) -> None:
    """Deterministic algorithms, the registered number of threads, and no reduced precision."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(rung.threads)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a debugging aid that costs time
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def load_tokenizer(rung: Rung, weights: LocalWeights) -> Any:
    """The rung's own tokenizer, from the same verified bytes as its weights."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return _loaded(rung, weights, AutoTokenizer)


def tokenizer_digest(tokenizer: Any) -> str:
    """sha256 over the fast tokenizer's definition and the chat template."""
    parts = [tokenizer.backend_tokenizer.to_str(), tokenizer.chat_template or ""]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8")).hexdigest()


def _load_model(rung: Rung, weights: LocalWeights) -> torch.nn.Module:
    if rung.device == "cuda" and not torch.cuda.is_available():
        raise InvalidJudge(f"{rung.slug}: it is registered for the device 'cuda', and no CUDA "
                           "device is available.")
    model, report = _loaded(rung, weights, AutoModelForCausalLM, dtype=getattr(torch, rung.dtype),
                            attn_implementation=rung.attention, output_loading_info=True)
    if report["missing_keys"]:
        raise InvalidJudge(f"{rung.slug}: its weights have no {min(report['missing_keys'])}, a "
                           "tensor that transformers fills with random numbers.")
    _align(model.to(rung.device))
    return model.eval()


def _align(model: torch.nn.Module) -> None:
    """Moves tensors that start between two cache lines, as those of a mapped file may.

    Matrix products sum in an order that can depend on the address, so the last bits of a logit
    would depend on how the same weights are divided into files.
    """
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.data_ptr() % CACHE_LINE:
            tensor.data = tensor.data.clone()


def _loaded(rung: Rung, weights: LocalWeights, factory: Any, **options: Any) -> Any:
    name = weights.gguf_file or weights.folder.name
    if weights.gguf_file:
        options["gguf_file"] = weights.gguf_file
    try:
        return factory.from_pretrained(weights.folder, local_files_only=True, **options)
    except Exception as error:  # each file format's parser raises errors of its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidJudge(f"{rung.slug}: transformers cannot load {name} ({reason[:200]}).") \
            from error
