"""The machine a benchmark runs on, and the memory of its processes (Linux)."""

import os
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lengthmirror.environment import package_versions, processor

PACKAGES = ("torch", "transformers", "numpy", "scipy", "pytest-xdist")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
OPTIONAL = ("lm_eval", "llama_cpp_python")


def facts() -> dict[str, Any]:
    """Processor, cores, memory and versions; ``load``: busy processes when the run began."""
    cpu = processor()
    return {"processor": cpu["model"], "instruction_set": cpu["instruction_set"],
            "cores": os.cpu_count(), "memory_gb": round(_total_memory() / 1e9, 1),
            "load": os.getloadavg()[0], "versions": {**package_versions(PACKAGES), **_optional()}}


def pin() -> int:
    """Ties this process to one core, the last it may use, and returns the core's number."""
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def has_flag(flag: str) -> bool:
    """Whether the processor names an instruction set, such as ``avx512_bf16``."""
    return re.search(rf"\b{flag}\b", Path("/proc/cpuinfo").read_text()) is not None


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of a module in a new interpreter and returns what it returns.

    Linear algebra has one thread there: two threads tied to one core would wait for each other.
    """
    with (patch.dict(os.environ, ONE_THREAD),
          ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool):
        return pool.submit(function, *arguments).result()


def peak_bytes() -> int:
    """Largest resident memory of this process since it began, or since ``forget_peak``."""
    return _status("VmHWM")


def resident_bytes() -> int:
    """Resident memory of this process now."""
    return _status("VmRSS")


def forget_peak() -> None:
    """Begins a new peak at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def proportional_bytes(pid: int) -> int:
    """Memory of a process, a page shared by n processes counting as its n-th part."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def children(pid: int) -> list[int]:
    """Process ids of the children of a process."""
    lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in lists for child in text.split()]


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def _total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _optional() -> dict[str, str]:
    found = {}
    for name in OPTIONAL:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    return found
