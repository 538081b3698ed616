"""Rungs and ladders, read from config/ladder.toml."""

import datetime
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidConfig, UnknownRung
from .toml_reader import Table, read_toml

SCHEMA = 1
DTYPES = ("float32", "bfloat16", "float16", "float64")
FROM_SCRATCH, SHARED_PREFIX = PATHS = ("from_scratch", "shared_prefix")
AGREEMENT = 1e-3  # of option logits computed in two ways (PREREGISTRATION.md section 13)
SLUG = re.compile(r"[a-z0-9][a-z0-9.\-]*")


@dataclass(frozen=True)
class Mirror:
    """Packages that carry the weights file in parts; ``members`` are joined in order."""
    official: bool
    packages: tuple[str, ...]
    members: tuple[str, ...]


@dataclass(frozen=True)
class Weights:
    """Where a rung's weights come from and what identifies them.

    ``sha256`` identifies a GGUF file, ``hub`` with ``revision`` a hub repository.
    """
    format: str
    file: str | None
    sha256: str | None
    bytes: int | None
    hub: str | None
    revision: str | None
    mirror: Mirror | None

    @property
    def identity(self) -> dict[str, str]:
        """What a logits manifest must repeat to belong to this rung."""
        if self.format == "gguf":
            return {"sha256": self.sha256}
        return {"hub": self.hub, "revision": self.revision}


@dataclass(frozen=True)
class Rung:
    """One judge: a model, its prompt mode and everything that fixes its logits.

    ``suffixes_per_forward``: how many endings of one prefix the shared-prefix path computes
    together, padded to the longest; more than 1 pays on an accelerator.
    """
    slug: str
    model: str
    family: str
    parameters: int
    loaded_parameters: int
    prompt_mode: str
    bos: str
    dtype: str
    attention: str
    device: str
    threads: int
    path: str
    licence: str
    unscored_reason: str | None
    weights: Weights
    template_date: datetime.date
    suffixes_per_forward: int = 1


@dataclass(frozen=True)
class Ladder:
    """A named list of rungs in increasing order of size."""
    name: str
    kind: str
    rungs: tuple[str, ...]


def load_ladder(path: Path) -> tuple[dict[str, Rung], dict[str, Ladder]]:
    """Rungs by slug and ladders by name, in the order of the file.

    Raises:
        InvalidConfig: a key is missing or wrong, a slug or name is used twice, or a ladder names
            an unknown rung or is not in order of size.
    """
    top = Table(read_toml(path), str(path))
    schema, date = top.take("schema", int), _date(top)
    if schema != SCHEMA:
        raise InvalidConfig(f"{path}: schema {schema} is not supported, expected {SCHEMA}.")
    rungs = _unique((_rung(entry, date) for entry in top.tables("rung")), "slug", path)
    ladders = _unique((_ladder(entry, rungs) for entry in top.tables("ladder")), "name", path)
    top.done()
    return rungs, ladders


def find_rung(rungs: dict[str, Rung], slug: str) -> Rung:
    """The rung with this slug.

    Raises:
        UnknownRung: with the slugs that exist.
    """
    if slug not in rungs:
        raise UnknownRung(f"there is no rung {slug!r} in config/ladder.toml; "
                          f"it has {', '.join(rungs)}.")
    return rungs[slug]


def _date(top: Table) -> datetime.date:
    text = top.take("template_date", str)
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"{top.where}: 'template_date' must be YYYY-MM-DD, got {text!r}.") from None


def _unique(entries, key: str, path: Path) -> dict:
    result = {}
    for entry in entries:
        name = getattr(entry, key)
        if name in result:
            raise InvalidConfig(f"{path}: the {key} {name!r} is used twice.")
        result[name] = entry
    return result


def _optional(entry: Table, key: str, kind: type):
    return entry.take(key, kind) if key in entry else None


def _rung(entry: Table, date: datetime.date) -> Rung:
    parameters = entry.take("parameters", int)
    rung = Rung(
        slug=entry.take("slug", str), model=entry.take("model", str),
        family=entry.take("family", str), parameters=parameters,
        loaded_parameters=_optional(entry, "loaded_parameters", int) or parameters,
        prompt_mode=entry.choice("prompt_mode", ("chat", "plain")),
        bos=entry.choice("bos", ("template", "add", "none")),
        dtype=entry.choice("dtype", DTYPES),
        attention=entry.choice("attention", ("sdpa", "eager")),
        device=entry.choice("device", ("cpu", "cuda")), threads=entry.take("threads", int),
        path=entry.choice("path", PATHS), licence=entry.take("licence", str),
        unscored_reason=_optional(entry, "unscored_reason", str),
        weights=_weights(entry.table("weights")), template_date=date,
        suffixes_per_forward=(entry.take("suffixes_per_forward", int)
                              if "suffixes_per_forward" in entry else 1))
    entry.done()
    if not SLUG.fullmatch(rung.slug):
        raise InvalidConfig(f"{entry.where}: 'slug' may hold small letters, digits, dots and "
                            f"hyphens only, got {rung.slug!r}.")
    if min(rung.parameters, rung.threads, rung.suffixes_per_forward) < 1:
        raise InvalidConfig(f"{entry.where}: 'parameters', 'threads' and 'suffixes_per_forward' "
                            "must be at least 1.")
    return rung


def _weights(entry: Table) -> Weights:
    kind = entry.choice("format", ("gguf", "hub"))
    gguf = kind == "gguf"
    mirror = _mirror(entry.table("mirror")) if gguf and "mirror" in entry else None
    weights = Weights(
        format=kind,
        file=entry.take("file", str) if gguf else None,
        sha256=entry.take("sha256", str) if gguf else None,
        bytes=entry.take("bytes", int) if gguf else None,
        hub=_optional(entry, "hub", str) if gguf else entry.take("hub", str),
        revision=_optional(entry, "revision", str) if gguf else entry.take("revision", str),
        mirror=mirror)
    _optional(entry, "original", str)
    entry.done()
    digest = weights.sha256 if gguf else weights.revision
    if not re.fullmatch("[0-9a-f]{64}" if gguf else "[0-9a-f]{40}", digest):
        raise InvalidConfig(f"{entry.where}: the {'sha256' if gguf else 'revision'} must be "
                            f"{64 if gguf else 40} hexadecimal digits, got {digest!r}.")
    return weights


def _mirror(entry: Table) -> Mirror:
    mirror = Mirror(entry.take("official", bool), entry.items_of("packages", str),
                    entry.items_of("members", str))
    entry.done()
    if len(mirror.packages) != len(mirror.members):
        raise InvalidConfig(f"{entry.where}: 'packages' and 'members' must have one item each "
                            "per part.")
    return mirror


def _ladder(entry: Table, rungs: dict[str, Rung]) -> Ladder:
    ladder = Ladder(entry.take("name", str), entry.choice("kind", ("one_family", "mixed_families")),
                    entry.items_of("rungs", str))
    entry.done()
    for slug in ladder.rungs:
        if slug not in rungs:
            raise InvalidConfig(f"{entry.where}: it names the unknown rung {slug!r}.")
        if ladder.rungs.count(slug) > 1:
            raise InvalidConfig(f"{entry.where}: the rung {slug!r} is listed twice.")
    sizes = [rungs[slug].parameters for slug in ladder.rungs]
    if any(left >= right for left, right in zip(sizes, sizes[1:])):
        raise InvalidConfig(f"{entry.where}: the rungs must be in increasing order of parameters.")
    return ladder
