"""Weights on this machine are read only when size and sha256 are the registered ones."""

import hashlib
from dataclasses import replace

import pytest

from lengthmirror.errors import InvalidWeights
from lengthmirror.ladder import Weights
from lengthmirror.weights import LocalWeights, check_file, locate_weights

from .tiny import tiny_rung

CONTENT = b"GGUF" + bytes(range(256)) * 8
NAME = "tiny.gguf"


def gguf_rung(content=CONTENT, **changes):
    """A rung whose weights are a file with this content."""
    weights = Weights(format="gguf", file=NAME, sha256=hashlib.sha256(content).hexdigest(),
                      bytes=len(content), hub=None, revision=None, mirror=None)
    return tiny_rung(weights=replace(weights, **changes))


def no_network(*_, **__):
    """Stands in for whatever would reach out."""
    raise AssertionError("nothing may be fetched")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test of this module may run pip or ask the hub."""
    monkeypatch.setattr("subprocess.run", no_network)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", no_network)
    monkeypatch.setattr("huggingface_hub.snapshot_download", no_network)


def test_right_file_is_found_without_fetching(tmp_path):
    """A file with the registered size and sha256 is used as it lies there."""
    (tmp_path / NAME).write_bytes(CONTENT)
    assert locate_weights(gguf_rung(), tmp_path, fetch=True) == LocalWeights(tmp_path, NAME)


def test_missing_file_says_how_to_get_it(tmp_path):
    """Without fetching, a missing file is an error that names the command that gets it."""
    with pytest.raises(InvalidWeights, match=r"^tiny: .*tiny\.gguf does not exist; "
                                             "'lengthmirror fetch tiny' gets it"):
        locate_weights(gguf_rung(), tmp_path, fetch=False)


def test_missing_file_without_any_source_is_an_error(tmp_path):
    """A rung with neither hub address nor mirror cannot be fetched, and says so."""
    with pytest.raises(InvalidWeights, match="^tiny: it has no source among hub, mirror"):
        locate_weights(gguf_rung(), tmp_path / "new", fetch=True)


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT + b"x"],
                         ids=["empty", "truncated", "longer"])
def test_file_of_another_size_is_refused(tmp_path, content):
    """A truncated file is refused with both sizes, before anything reads it, and is kept."""
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(InvalidWeights, match=f"has {len(content)} bytes, expected {len(CONTENT)}"):
        locate_weights(gguf_rung(), tmp_path, fetch=True)
    assert (tmp_path / NAME).read_bytes() == content


def test_file_with_another_digest_is_refused(tmp_path):
    """One changed byte is refused with the found and the registered sha256."""
    changed = CONTENT[:-1] + b"x"
    (tmp_path / NAME).write_bytes(changed)
    found, expected = (hashlib.sha256(content).hexdigest() for content in (changed, CONTENT))
    with pytest.raises(InvalidWeights, match=f"has sha256 {found}, expected {expected}"):
        locate_weights(gguf_rung(), tmp_path, fetch=False)


def test_check_names_the_rung(tmp_path):
    """The check of one file names the rung whose weights it should be."""
    (tmp_path / NAME).write_bytes(CONTENT)
    check_file(gguf_rung(), tmp_path / NAME)
    with pytest.raises(InvalidWeights, match="^tiny: "):
        check_file(gguf_rung(sha256="0" * 64), tmp_path / NAME)


def test_identity_is_the_bytes_or_the_revision(rung):
    """A file is identified by its sha256 alone, a hub repository by address and revision."""
    assert gguf_rung(hub="anywhere").weights.identity == gguf_rung().weights.identity
    assert set(gguf_rung().weights.identity) == {"sha256"}
    assert set(rung.weights.identity) == {"hub", "revision"}
