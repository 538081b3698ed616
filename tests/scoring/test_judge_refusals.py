"""A judge that cannot be what is registered is refused when it is loaded, in one sentence."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from lengthmirror.errors import InvalidJudge, InvalidWeights, ScoringFailed
from lengthmirror.judge import Judge
from lengthmirror.weights import LocalWeights, locate_weights

from .tiny import SLUG, byte_tokenizer, save_hub_layout, tiny_llama
from .tiny_gguf import write_gguf

MERGES = (("Ġ", "A"), ("Ġ", "B"))
TENSOR = "model.layers.1.mlp.up_proj.weight"


@pytest.fixture
def shards(tmp_path, tiny_model):
    """A hub repository in several shards, to be damaged."""
    return save_hub_layout(tmp_path / SLUG, tiny_model, byte_tokenizer(), "20KB")


def refused(rung, folder, templates, match, gguf_file=None):
    """Loads a judge and expects one sentence that begins with its slug."""
    with pytest.raises(InvalidJudge, match=match) as caught:
        Judge(rung, LocalWeights(folder, gguf_file), templates)
    message = str(caught.value)
    assert message.startswith(f"{rung.slug}: ") and "\n" not in message and message.endswith(".")


def test_nan_weights_fail_with_judge_unit_and_ordering(rung, tmp_path, templates):
    """One NaN weight is an error naming judge, unit and ordering at the first prompt."""
    model = tiny_llama(byte_tokenizer())
    with torch.no_grad():
        model.model.norm.weight[0] = float("nan")
    save_hub_layout(tmp_path / SLUG, model, byte_tokenizer())
    judge = Judge(rung, locate_weights(rung, tmp_path, fetch=False), templates)
    ids = judge.encoder.encode("Which?", "u")
    unit = "question 4, turn 1, x in slot A and y in slot B"
    with pytest.raises(ScoringFailed, match=f"^tiny: {unit}: .* not finite"):
        judge.score(ids, (0, 1), unit)


def test_other_parameter_count_is_refused(rung, tiny_weights, templates):
    """A model of another size than the registered one is refused with both numbers."""
    registered = replace(rung, loaded_parameters=rung.loaded_parameters + 1)
    refused(registered, tiny_weights / SLUG, templates,
            f"has {rung.loaded_parameters} parameters, expected {rung.loaded_parameters + 1}")


def test_cuda_judge_without_cuda_is_refused(rung, tiny_weights, templates, monkeypatch):
    """A rung registered for CUDA never falls back to the CPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refused(replace(rung, device="cuda"), tiny_weights / SLUG, templates, "no CUDA device")


def test_unknown_architecture_is_refused(rung, shards, templates):
    """An architecture that transformers does not know is one sentence with the judge's slug."""
    config = json.loads((shards / "config.json").read_text())
    config.update(model_type="nosuchmodel", architectures=["NoSuchModel"])
    (shards / "config.json").write_text(json.dumps(config))
    refused(rung, shards, templates, "transformers cannot load tiny .*nosuchmodel")


def test_unsupported_gguf_architecture_is_refused_with_its_file(rung, tmp_path, templates):
    """A GGUF file of an unsupported architecture is one sentence with the slug and the file."""
    tokenizer = byte_tokenizer(merges=MERGES)
    write_gguf(tmp_path / "odd.gguf", tiny_llama(tokenizer), tokenizer, MERGES, "nosucharch")
    refused(rung, tmp_path, templates, "transformers cannot load odd.gguf", "odd.gguf")


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"GGUF" + bytes(60)])
def test_file_that_is_no_gguf_is_refused(rung, tmp_path, templates, content):
    """A file that only claims to be GGUF is one sentence too."""
    (tmp_path / "fake.gguf").write_bytes(content)
    refused(rung, tmp_path, templates, "transformers cannot load fake.gguf", "fake.gguf")


def test_truncated_shard_is_refused(rung, shards, templates):
    """A shard that lost its end is refused by the judge's slug."""
    shard = sorted(shards.glob("*.safetensors"))[1]
    shard.write_bytes(shard.read_bytes()[:-40])
    refused(rung, shards, templates, "transformers cannot load tiny")


def test_missing_shard_is_refused(rung, shards, templates):
    """A shard that the index names and the folder lacks is refused."""
    sorted(shards.glob("*.safetensors"))[1].unlink()
    refused(rung, shards, templates, "transformers cannot load tiny")


@pytest.mark.parametrize("keep, match", [
    (lambda tensor: None, f"its weights have no {TENSOR}"),
    (lambda tensor: tensor[:-1].clone(), "transformers cannot load tiny")],
    ids=["absent", "of another shape"])
def test_tensor_that_would_be_made_up_is_refused(rung, tmp_path, tiny_model, templates, keep,
                                                 match):
    """Weights without one tensor, or with a wrong one, are never completed at random."""
    folder = save_hub_layout(tmp_path / SLUG, tiny_model, byte_tokenizer())
    tensors = load_file(folder / "model.safetensors")
    changed = keep(tensors.pop(TENSOR))
    if changed is not None:
        tensors[TENSOR] = changed
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    refused(rung, folder, templates, match)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, "{"])
def test_missing_or_torn_description_is_refused(rung, shards, templates, name, content):
    """A repository without a readable config or tokenizer is refused by the judge's slug."""
    (shards / name).unlink() if content is None else (shards / name).write_text(content)
    if name == "tokenizer.json":
        (shards / "tokenizer_config.json").unlink()
    refused(rung, shards, templates, "transformers cannot load tiny")


def test_repository_of_another_revision_is_refused(rung, shards):
    """A folder whose marker names another revision is not this rung's weights."""
    (shards / ".revision").write_text("invented/tiny@" + "b" * 40)
    with pytest.raises(InvalidWeights, match="holds invented/tiny@b+, expected invented/tiny@a+"):
        locate_weights(rung, shards.parent, fetch=False)


def test_repository_without_its_marker_is_refused(rung, shards):
    """A half fetched repository, which has no marker yet, is not loaded."""
    (shards / ".revision").unlink()
    with pytest.raises(InvalidWeights, match="tiny: .* does not hold invented/tiny@a+"):
        locate_weights(rung, shards.parent, fetch=False)
