"""No registered value is a constant or a default in src/: the code takes them from the rule.

The values come from decision_rule.toml itself. A literal counts however it is written (0.05,
5e-2, 1 / 20, "0.05", a constant of the module divided by another).
"""

import ast
import operator
import re
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCES = sorted((PROJECT / "src").rglob("*.py"))
RULE = PROJECT / "preregistration" / "decision_rule.toml"

# Small numbers that any code counts, indexes and halves with. They are still refused as the value
# of anything that is named like a threshold.
STRUCTURAL = {0, 1, 2, 4, 0.5}
THRESHOLD = re.compile(
    r"(^|[_.\-])(alpha|tau|delta|margin|seed|slack|floor|threshold|n_resamples|n-resamples|"
    r"n_bins|n_length_bins|pc_min|max_dropped_share|borderline_distance|borderline_n_resamples|"
    r"min_judges)([_\-]|$)", re.IGNORECASE)
# What may look like a registered value, by file and expression, with the reason.
EXCEPTIONS = {
    ("analysis.py", "5"): "the option mass is described by its 5th percentile (section 2)",
    ("analysis.py", "MASS_PERCENTILE / 100"): "the same percentile as a fraction",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Div: operator.truediv, ast.Pow: operator.pow, ast.LShift: operator.lshift}


def numbers(value) -> set:
    """Every number in a TOML value, at any depth, apart from the ranks of the classes."""
    if isinstance(value, dict):
        return set().union(*(numbers(item) for key, item in value.items()
                             if key not in ("rank", "schema")), set())
    if isinstance(value, list):
        return set().union(*map(numbers, value), set())
    return {value} if type(value) in (int, float) else set()


REGISTERED = numbers(tomllib.loads(RULE.read_text(encoding="utf-8"))) - STRUCTURAL


def folded(node: ast.AST, constants: dict):
    """The number an expression of literals and module constants has, else None."""
    if isinstance(node, ast.Constant):
        return number(node.value)
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = folded(node.operand, constants)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = folded(node.left, constants), folded(node.right, constants)
        if left is None or right is None:
            return None
        try:
            return OPERATORS[type(node.op)](left, right)
        except (ArithmeticError, TypeError, ValueError):
            return None
    return None


def number(value):
    """A literal's number; a string that is nothing but a decimal number counts."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", value):
        return float(value)
    return value if type(value) in (int, float) else None


def named_values(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """What a node gives to a name: defaults, arguments, assignments, entries, options."""
    if isinstance(node, FUNCTIONS):
        positional = [*node.args.posonlyargs, *node.args.args]
        with_default = positional[len(positional) - len(node.args.defaults):]
        pairs = [*zip(with_default, node.args.defaults),
                 *zip(node.args.kwonlyargs, node.args.kw_defaults)]
        return [(argument.arg, default) for argument, default in pairs if default is not None]
    if isinstance(node, ast.Call):
        return called_with(node)
    if isinstance(node, ast.Dict):
        return [(key.value, value) for key, value in zip(node.keys, node.values)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(ast.unparse(node.target), node.value)]
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
        pairs += [pair for target in node.targets if isinstance(target, ast.Tuple)
                  and isinstance(node.value, ast.Tuple)
                  for pair in zip(target.elts, node.value.elts)]
        return [(ast.unparse(target), value) for target, value in pairs]
    return []


def called_with(node: ast.Call) -> list[tuple[str, ast.AST]]:
    """Keyword arguments; and the default of ``get("name", default)`` and of an option's name."""
    words = {word.arg: word.value for word in node.keywords if word.arg}
    values = list(words.items())
    first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if isinstance(first, str):
        values += [(first, value) for value in [*node.args[1:2], words.get("default")] if value]
    return values


def violations(source: str, registered: set = REGISTERED) -> list[str]:
    """Each expression of a module that is a registered value, or a default of a threshold."""
    tree = ast.parse(source)
    constants = {}
    for node in tree.body:
        for name, value in named_values(node):
            constants[name] = folded(value, constants)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) and folded(node, constants) in registered:
            found.append(ast.unparse(node))
        found += [f"{name}={ast.unparse(value)}" for name, value in named_values(node)
                  if THRESHOLD.search(name)
                  and (isinstance(node, FUNCTIONS) or folded(value, {}) is not None)]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_module_holds_a_registered_value(path):
    """Every module of src/ is free of registered numbers and of defaults for them."""
    found = [text for text in violations(path.read_text(encoding="utf-8"))
             if (path.name, text) not in EXCEPTIONS]
    assert found == []


def test_every_exception_is_still_needed():
    """An exception whose expression is gone is removed from the list."""
    found = {(path.name, text) for path in SOURCES
             for text in violations(path.read_text(encoding="utf-8"))}
    assert set(EXCEPTIONS) <= found


def test_the_values_come_from_the_rule():
    """The scanner looks for every kind of number the rule has, sensitivity analyses included."""
    assert {0.2, 0.1, 0.05, 20261129, 9999, 99999, 0.01, 0.002, 1e-9, 5, 0.125, 0.3, 0.075,
            0.15} <= REGISTERED


@pytest.mark.parametrize("planted", [
    "x = 0.2", "f(0.125)", "LIMIT = 1e-1", "N = 9999", "N = 10**4 - 1", "SEED = 20261129",
    "y = 1 / 20", "y = 5 / 100", "P = 5\nq = P / 100", "y = -0.125 < x", "y = Fraction('0.2')",
    "y = float('1e-9')", "def f(x=0.05): pass", "class C:\n    level: float = 0.05",
    "def f(alpha=0.5): pass", "def f(*, n_resamples=1): pass", "def f(seed=None): pass",
    "def f(delta_0=DEFAULT): pass", "g = lambda tau=0: tau", "f(alpha=0.5)", "f(deff_floor=1)",
    "f(deff_floor=1.0)", "n_bins = 4", "rule.pc_min = 0.5", "class C:\n    min_judges: int = 2",
    "x[5]", "f'{0.125:.3f}'", "if x < 0.05: pass", "D = {'tau': 0.3}",
    "D = {'pc_min': 0.5}", "alpha, tau = 0.5, 1", "table.get('alpha', 0.5)",
    "parser.add_argument('--n-resamples', default=1)", "def f(x, *, delta_h=0): pass",
    "async def f(margin=1): pass", "f(1.25e-1)", "f('0.05')", "[0.075, 0.10]",
])
def test_a_planted_value_is_caught(planted):
    """Each way of writing a threshold into the code is found."""
    assert violations(planted)


@pytest.mark.parametrize("clean", [
    "x = 0.5 * (a + b)", "x[..., 4:8]", "half = 2", "def f(alpha, tau): pass",
    "f(alpha=rule.alpha)", "alpha = rule.intervals.alpha / 2", "def f(n=1): pass",
    "text = 'tau 0.2'", "low = max(x, 0.0)", "z = y[:12]", "f(seed=seed)",
    "tau = 1 - rule.tau", "def f(question_id=None): pass",
    "f('tau', 0.7 + x)", "{'n_units': 1}", "a, b = 1, 2", "print('margin 0.125')",
])
def test_clean_code_is_not_accused(clean):
    """Counting, halving and passing on what the rule says are no thresholds."""
    assert violations(clean) == []
