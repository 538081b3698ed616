"""What machine and libraries logits were made with; recorded, and part of their key."""

import platform
from importlib.metadata import version
from pathlib import Path

SCORING_PACKAGES = ("torch", "transformers", "tokenizers", "gguf", "numpy")


def package_versions(names=SCORING_PACKAGES) -> dict[str, str]:
    """Installed versions by distribution name, and Python's."""
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def processor() -> dict[str, str]:
    """Processor model, architecture and the instruction set torch uses."""
    import torch
    return {"model": _cpu_model(), "machine": platform.machine(),
            "instruction_set": torch.backends.cpu.get_cpu_capability()}


def _cpu_model() -> str:
    """Name, family and model number: two processors of one marketing name are told apart."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or "unknown"
    fields = dict(line.split(":", 1) for line in info.read_text().split("\n\n")[0].splitlines()
                  if ":" in line)
    found = {key.strip(): value.strip() for key, value in fields.items()}
    return (f"{found.get('model name', 'unknown')} family {found.get('cpu family', '?')} "
            f"model {found.get('model', '?')}")
