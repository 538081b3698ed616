"""Other types and devices by configuration alone: dtype, device, suffixes_per_forward."""

from dataclasses import replace
from functools import wraps

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'score'")

from lengthmirror.judge import Judge  # noqa: E402
from lengthmirror.ladder import PATHS, SHARED_PREFIX  # noqa: E402
from lengthmirror.weights import locate_weights  # noqa: E402

START = "Which answer is better? " * 9
TEXTS = [START + ending for ending in ("A then B", "B then A", "neither " * 20, "both")]
CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(),
                                                     reason="no CUDA device is available"))


@pytest.fixture
def scores(rung, tiny_weights, templates):
    """Scores of the prompts by a rung with changed settings, and the judge."""
    def made(path, **changes):
        judge = Judge(replace(rung, path=path, **changes),
                      locate_weights(rung, tiny_weights, fetch=False), templates)
        ids = [judge.encoder.encode(text, "u") for text in TEXTS]
        options = judge.encoder.option_ids(TEXTS[0])
        if path == SHARED_PREFIX:
            return judge, judge.score_shared(ids, options, TEXTS)[0]
        return judge, [judge.score(one, options, "u") for one in ids]
    return made


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("bfloat16", 0.3),
                                              ("float64", 1e-4)])
def test_type_and_device_come_from_the_configuration(scores, path, device, dtype, tolerance):
    """The model has the configured type and device, and its logits are near float32's."""
    judge, found = scores(path, dtype=dtype, device=device)
    parameter = next(judge.model.parameters())
    assert (parameter.dtype, parameter.device.type) == (getattr(torch, dtype), device)
    _, reference = scores("from_scratch")
    assert [one.logit_a for one in found] == pytest.approx(
        [one.logit_a for one in reference], abs=tolerance)
    assert dtype != "bfloat16" or found != reference


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("size", [1, 2, 8])
def test_scores_twice_are_the_same_bits(scores, device, size):
    """Deterministic algorithms: a second judge gives the first one's bits."""
    settings = {"device": device, "suffixes_per_forward": size}
    assert scores(SHARED_PREFIX, **settings)[1] == scores(SHARED_PREFIX, **settings)[1]


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_suffixes_of_one_forward_against_one_by_one(scores, device):
    """Endings computed together give the scores of endings computed one by one."""
    together = scores(SHARED_PREFIX, device=device, suffixes_per_forward=8)[1]
    one_by_one = scores(SHARED_PREFIX, device=device)[1]
    for name in ("logit_a", "logit_b", "logprob_a", "logprob_b"):
        assert ([getattr(score, name) for score in together]
                == pytest.approx([getattr(score, name) for score in one_by_one], abs=1e-4))


def test_batches_are_what_the_configuration_says(scores, monkeypatch):
    """With suffixes_per_forward = 3 a forward pass has up to three rows."""
    rows = []
    judge, _ = scores(SHARED_PREFIX, suffixes_per_forward=3)
    forward = judge.model.forward

    @wraps(forward)
    def counted(ids, **options):
        rows.append(len(ids))
        return forward(ids, **options)

    monkeypatch.setattr(judge.model, "forward", counted)
    ids = [judge.encoder.encode(text, "u") for text in TEXTS]
    judge.score_shared(ids, judge.encoder.option_ids(TEXTS[0]), TEXTS)
    assert max(rows) > 1 and max(rows) <= 3
