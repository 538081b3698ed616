"""What each command of ``cli`` does; heavy imports only inside the command that needs them."""

import argparse
import secrets
from dataclasses import replace
from pathlib import Path

from .errors import InvalidConfig, InvalidLogits, LengthMirrorError
from .files import write_bytes
from .ladder import FROM_SCRATCH, find_rung
from .logit_table import read_logits, summary
from .manifest import NAME, read_manifest
from .receipt import RECEIPT, read_receipt
from .study import Study, load_study


def build_pairs(options: argparse.Namespace) -> None:
    """``lengthmirror pairs``."""
    job = _scoring_job()
    n_units = job.build_pairs(_study(options), _places(job, options))
    print(f"{options.artifacts / 'pairs.parquet'}: {n_units} units")


def fetch(options: argparse.Namespace) -> None:
    """``lengthmirror fetch``."""
    from .weights import locate_weights
    study = _study(options)
    for rung in [find_rung(study.rungs, slug) for slug in options.rungs]:
        found = locate_weights(rung, options.weights, True, options.source or ("hub", "mirror"))
        print(f"{rung.slug}: {found.folder / (found.gguf_file or '')}")


def score(options: argparse.Namespace) -> None:
    """``lengthmirror score``."""
    study = _study(options)
    registered = find_rung(study.rungs, options.rung)
    rung = replace(registered, path=_path(options) or registered.path)
    job = _scoring_job()
    output = job.check_output(options.output, options.artifacts, options.limit_units,
                              rung != registered)
    _check_replaceable(options.registration, study, output, rung.slug)
    path = job.score_rung(study, rung, _places(job, options), output, options.work,
                          options.workers, options.limit_units)
    print(f"{path}: written; {summary(read_logits(path, rung.slug))}")


def _check_replaceable(registration: Path, study: Study, output: Path, slug: str) -> None:
    """Refuses to replace logits that were made under another registration."""
    entry = read_manifest(output / NAME)["rungs"].get(slug, {})
    receipt = read_receipt(registration / RECEIPT)
    known = {study.digest, *(past.digest for past in (receipt.entries if receipt else ()))}
    made_under = entry.get("registration_digest") if isinstance(entry, dict) else None
    if entry and made_under not in known:
        raise InvalidConfig(f"{slug}: {output} holds logits made under another registration "
                            f"({str(made_under)[:12]}); give this study's a folder of their own "
                            "with --output.")


def freeze(options: argparse.Namespace) -> None:
    """``lengthmirror freeze``."""
    from .freeze import write_receipt
    study = _study(options)
    receipt = write_receipt(options.registration, options.config, options.artifacts,
                            options.amend, options.concerns)
    print(f"{options.registration / 'RECEIPT.json'}: registration {study.digest}, frozen in "
          f"{receipt.entries[-1].commit}")


def verify(options: argparse.Namespace) -> int:
    """``lengthmirror verify``: 1 when a check fails or re-scored verdicts or logits differ."""
    if options.rung and not options.rescore:
        raise InvalidConfig("--rung names what --rescore scores again; give both.")
    if options.no_prefix_sharing and not options.rescore:
        raise InvalidConfig("--no-prefix-sharing is a way of scoring again; give --rescore too.")
    if options.sample_seed is not None and not options.rescore:
        raise InvalidConfig("--sample-seed chooses what --rescore scores again; give both.")
    if options.require_verified and options.rescore:
        raise InvalidConfig("--require-verified is about the tamper checks, which --rescore does "
                            "not make; give one of them.")
    if options.rescore:
        return _rescore(options)
    from .registration import overall
    from .registration import verify as make_checks
    checks = make_checks(options.registration, options.config, options.artifacts)
    for check in checks:
        print(f"{check.name:10} {check.status:13} {check.sentence}")
    state = overall(checks)
    print(f"registration: {state}")
    return int(state == "broken" or options.require_verified and state != "verified")


def _rescore(options: argparse.Namespace) -> int:
    """Scores units of one rung, or of every rung with logits, again: 1 when one differs."""
    study, job = _study(options), _scoring_job()
    seed = secrets.randbits(32) if options.sample_seed is None else options.sample_seed
    paths = {slug: options.artifacts / slug / "logits.parquet" for slug in study.rungs}
    chosen = [options.rung] if options.rung else [slug for slug in paths if paths[slug].exists()]
    if not chosen:
        raise InvalidLogits(f"no rung has logits below {options.artifacts} to score again.")
    all_agree = True
    for slug in chosen:
        rung = find_rung(study.rungs, slug)
        comparison = job.rescore(study, slug, _places(job, options), options.rescore, seed,
                                 paths[slug], _path(options))
        print(f"{slug}: {comparison.sentence}")
        all_agree &= comparison.agrees(rung.dtype)
    return int(not all_agree)


def sensitivity(options: argparse.Namespace) -> None:
    """``lengthmirror sensitivity``."""
    from . import sensitivity_report as tables
    from .ladder_session import LadderOptions, LadderSession
    own = options.registration == Path("preregistration")
    session = LadderSession(LadderOptions(options.registration, options.config, options.artifacts,
                                          own))
    judges = tables.chosen_judges(session.inputs, options.rungs)
    document = tables.sensitivity_document(session.inputs, session.registration, judges)
    for name, content in (("sensitivity.json", tables.document_bytes(document)),
                          ("sensitivity.csv", tables.csv_bytes(document))):
        _write(options.output / name, content)
    print("\n".join(tables.sensitivity_lines(document)))


def _write(path: Path, content: bytes) -> None:
    try:
        write_bytes(path, content)
    except OSError as error:
        raise InvalidConfig(f"{path} cannot be written ({error.strerror}).") from None


def report(options: argparse.Namespace) -> None:
    """``lengthmirror report``."""
    try:
        from .report_page import write_report
    except ModuleNotFoundError as error:
        raise _needs_extra("report", error) from None
    for path in write_report(options.ladder, options.output):
        print(path)


def _path(options: argparse.Namespace) -> str | None:
    """The path asked for, or None for the registered one."""
    return FROM_SCRATCH if options.no_prefix_sharing else None


def _study(options: argparse.Namespace):
    return load_study(options.registration, options.config)


def _scoring_job():
    try:
        from . import scoring_job
    except ModuleNotFoundError as error:
        raise _needs_extra("score", error) from None
    return scoring_job


def _needs_extra(extra: str, error: ModuleNotFoundError) -> LengthMirrorError:
    return LengthMirrorError(f"this command needs the extra {extra!r} ({error.name} is missing): "
                             f"pip install 'lengthmirror[{extra}]'.")


def _places(job, options: argparse.Namespace):
    return job.Places(options.artifacts, options.weights, options.data)
