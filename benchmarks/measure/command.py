"""``benchmarks/run.py``: runs benchmarks, keeps earlier results, writes the table."""

import argparse
import datetime
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from . import machine, results, table
from .progress import say
from .settings import ROOT, Settings
from .targets import COMPARED, MEASURES

ALONE = ("workers", "peak_memory", "bootstrap", "statistics_at_scale", "ladder_run")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for; results are written after each part, so an interrupt loses one."""
    options = parse(arguments)
    settings = Settings(options.data.resolve(), options.weights.resolve(), options.rung,
                        options.quick)
    facts = machine.facts()
    say(f"{facts['processor']}, {facts['cores']} cores, load {facts['load']:.1f}")
    output = options.json or (None if options.quick else ROOT / "benchmarks" / "results.json")
    shown: dict[str, Any] = {}
    for names in parts(options.only or list(MEASURES)):
        say(", ".join(names))
        entries = {name: results.entry(name, outcome, today(), facts, options.quick)
                   for name, outcome in outcomes(settings, names).items()}
        shown = results.merged(shown, entries)
        if output:
            write(output, entries)
    print(table.render(shown))
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("LENGTHMIRROR_DATA"),
                        help="folder of the judgments (default: $LENGTHMIRROR_DATA)")
    parser.add_argument("--weights", type=Path, help="folder of the weights",
                        default=os.environ.get("LENGTHMIRROR_WEIGHTS", ".lengthmirror/weights"))
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), metavar="NAME",
                        help=f"some of {', '.join(MEASURES)}")
    parser.add_argument("--rung", default="smollm2-135m", help="judge of the scoring benchmarks")
    parser.add_argument("--json", type=Path, help="results, beside which the table is written "
                        "(default: benchmarks/results.json)")
    parser.add_argument("--quick", action="store_true",
                        help="a trial on a few prompts, written only where --json says")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("--data names the folder of the judgments.")
    options.data, options.weights = Path(options.data), Path(options.weights)
    return options


def parts(names: Sequence[str]) -> list[list[str]]:
    """Benchmarks that share a process together, the others each alone, in the table's order."""
    together = [name for name in MEASURES if name in names and name in COMPARED]
    alone = [[name] for name in MEASURES if name in names and name not in COMPARED]
    return [*([together] if together else []), *alone]


def outcomes(settings: Settings,
             names: Sequence[str]) -> dict[str, results.Outcome | results.Skipped]:
    """What the benchmarks of one part measured, or why they did not."""
    if names[0] in COMPARED:
        from . import scoring
        return machine.in_fresh_process(scoring.run, settings, names)
    benchmark = import_module(f"{__package__}.{names[0]}")
    return {names[0]: benchmark.run(settings)}


def write(path: Path, entries: dict[str, Any]) -> None:
    """Merges entries into the results, the table beside them and the README that shows it."""
    merged = results.merged(results.read(path), entries)
    results.write(path, merged)
    text = table.render(merged)
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    readme = path.parent / "README.md"
    if readme.exists() and table.BEGIN in (document := readme.read_text(encoding="utf-8")):
        readme.write_text(table.pasted(document, text), encoding="utf-8")


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
