"""Imports point one way: from commands and reports down to errors, and never back.

The map below is the package's table of contents; a new module is entered in it.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "lengthmirror"
# Areas from the bottom to the top. A module may import modules of its own area and of those below;
# "judging" stands beside "reporting" and "page".
AREAS = {
    "foundation": "errors toml_reader files frozen history",
    "registered": "rule ladder study receipt freeze",
    "data": "dataset pairs prompts unit_builder",
    "statistics": "resampling subset_sums intervals gap human_gap joint_bootstrap "
                  "human_statistics decision judge_statistics verdicts length_curve scale "
                  "scale_outcome",
    "tables": "logit_table logit_alignment manifest",
    "judging": "weights encoding chunked_attention shared_prefix judge environment workers "
               "scoring_plan scoring rescoring scoring_job",
    "reporting": "inputs analysis ladder_report scale_report sensitivity sensitivity_report "
                 "planted rule_check registration ladder_session ladder_controller pytest_plugin",
    "page": "report_checks report_data figure_style label_placement figure_gap figure_subsets "
            "figure_scale figure_length figure_orders report_words report_answer report_page",
    "commands": "commands cli __main__",
}
AREA_OF = {module: area for area, modules in AREAS.items() for module in modules.split()}
SIDE_BY_SIDE = {("judging", "reporting"), ("reporting", "judging"), ("page", "judging")}
MODEL_LIBRARIES = {"torch", "transformers", "datasets", "huggingface_hub", "gguf", "tokenizers",
                   "safetensors"}
# What may be imported from outside the standard library, where it is less than everything.
ALLOWED = {
    "foundation": {"pyarrow"},
    "registered": set(),
    "statistics": {"numpy", "scipy", "statsmodels"},
    "tables": {"numpy", "pyarrow", "filelock"},
    "reporting": {"numpy", "pytest", "_pytest"},
    "page": {"numpy", "matplotlib", "jinja2", "jsonschema", "referencing"},
    "commands": set(),
}
PYTEST_MODULES = {"pytest_plugin", "ladder_controller"}
MODEL_MODULES = {"judge", "shared_prefix", "chunked_attention"}


def imports(source: str, at_top: bool = False) -> tuple[set[str], set[str]]:
    """The package's own modules and the foreign packages that a module imports.

    Args:
        source: of the module.
        at_top: only what is imported when the module is, not inside a function.
    """
    own, foreign = set(), set()
    for node in _imports_of(ast.parse(source), at_top):
        if isinstance(node, ast.Import):
            foreign |= {alias.name.split(".")[0] for alias in node.names}
        elif node.level == 0:
            foreign.add(node.module.split(".")[0])
        elif node.module:
            own.add(node.module.split(".")[0])
        else:
            own |= {alias.name for alias in node.names}
    return own - {"__version__"}, foreign - set(sys.stdlib_module_names)


def _imports_of(node: ast.AST, at_top: bool):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not (at_top and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))):
            yield from _imports_of(child, at_top)


def source_of(module: str) -> str:
    return (PACKAGE / f"{module}.py").read_text(encoding="utf-8")


def may_import(importer: str, imported: str) -> bool:
    """Whether the areas of two modules allow one to import the other."""
    order = list(AREAS)
    pair = (AREA_OF[importer], AREA_OF[imported])
    return pair not in SIDE_BY_SIDE and order.index(pair[0]) >= order.index(pair[1])


def test_every_module_is_on_the_map():
    """The map names each module of the package once, and no other."""
    modules = {path.stem for path in PACKAGE.rglob("*.py")} - {"__init__"}
    named = " ".join(AREAS.values()).split()
    assert sorted(named) == sorted(modules)


@pytest.mark.parametrize("module", AREA_OF)
def test_imports_point_down(module):
    """No module imports one of an area above it, inside functions included."""
    wrong = [other for other in imports(source_of(module))[0] if not may_import(module, other)]
    assert wrong == []


def test_no_modules_import_each_other():
    """Within an area too there is an order: imports have no cycle."""
    left = {module: imports(source_of(module))[0] for module in AREA_OF}
    while ready := [module for module, others in left.items() if not others & set(left)]:
        for module in ready:
            del left[module]
    assert left == {}


@pytest.mark.parametrize("module", [name for name in AREA_OF if AREA_OF[name] in ALLOWED])
def test_foreign_packages_stay_in_their_area(module):
    """Statistics know numpy, scipy and statsmodels only; nothing that reports loads a model."""
    foreign = imports(source_of(module))[1]
    assert foreign <= ALLOWED[AREA_OF[module]]
    assert module in PYTEST_MODULES or not foreign & {"pytest", "_pytest"}


@pytest.mark.parametrize("module", [name for name in AREA_OF if name not in MODEL_MODULES])
def test_model_libraries_load_inside_functions(module):
    """Only the judge and how it reuses a cache need a model library to be imported at all."""
    assert not imports(source_of(module), at_top=True)[1] & MODEL_LIBRARIES


def test_the_statistics_run_without_models_or_pytest():
    """In a fresh process the statistics load no model library and no pytest."""
    names = ", ".join(f"lengthmirror.{module}" for module in AREAS["statistics"].split())
    unwanted = sorted(MODEL_LIBRARIES | {"pytest"})
    code = f"import sys, {names}; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(PACKAGE.parent)})
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("source, own, foreign", [
    ("from .rule import Rule", {"rule"}, set()),
    ("from . import decision", {"decision"}, set()),
    ("def f():\n    from .judge import Judge", {"judge"}, set()),
    ("try:\n    import torch.nn\nexcept ImportError:\n    pass", set(), {"torch"}),
    ("from scipy import stats\nimport os", set(), {"scipy"}),
])
def test_every_way_to_import_is_seen(source, own, foreign):
    """The reader of imports sees relative, nested, guarded and dotted ones."""
    assert imports(source) == (own, foreign)


@pytest.mark.parametrize("importer, imported, allowed", [
    ("errors", "rule", False), ("gap", "analysis", False), ("analysis", "gap", True),
    ("judge", "analysis", False), ("registration", "judge", False), ("commands", "judge", True),
])
def test_the_map_refuses_what_points_up_or_sideways(importer, imported, allowed):
    """The order of the areas is what the rule says it is."""
    assert may_import(importer, imported) is allowed
