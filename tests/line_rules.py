"""Check that lines are for readers: each rule forbids a way to fold a statement.

    python tests/line_rules.py [FILE ...]

Without arguments it checks every Python file that git knows. ruff limits the length of lines; it
has no rules for these.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_MOST_NAMES = 2  # assigned from a tuple
# What returns a truth value, beside the functions of this project that say so.
_PREDICATES = {"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"}
_METHODS = {"endswith", "exists", "is_dir", "is_file", "isatty", "isdigit", "startswith"}


def main(arguments: list[str]) -> int:
    """Print each broken rule with its place; return 1 if there is one."""
    paths = [Path(argument) for argument in arguments] or tracked_files()
    modules = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    truths = truth_names(modules.values())
    places = [
        f"{path}:{line}: {rule}"
        for path, module in modules.items()
        for line, rule in sorted(broken_rules(module, truths))
    ]
    print(*places, sep="\n", end="\n" if places else "")
    return 1 if places else 0


def tracked_files() -> list[Path]:
    """Return the Python files that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def broken_rules(module: ast.Module, truths: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the rule of each place that breaks one.

    `truths` are the names of variables, attributes and functions that hold or return a bool.
    """
    for node in ast.walk(module):
        match node:
            case ast.BinOp(op=ast.Mult()) if multiplies_by_truth(node, truths):
                yield node.lineno, "a list or a text is multiplied by a truth value"
            case ast.IfExp() if any(
                isinstance(inner, ast.IfExp) for inner in ast.walk(node) if inner is not node
            ):
                yield node.lineno, "a conditional expression is inside another one"
            case ast.IfExp() if node.end_lineno != node.lineno:
                yield node.lineno, "a conditional expression spans lines"
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple()) if (
                len(names) > _MOST_NAMES
            ):
                yield node.lineno, "a tuple assigns more than two names"


def multiplies_by_truth(product: ast.BinOp, truths: set[str]) -> bool:
    """Return whether one factor is a list or a text, and the other one a truth value."""
    for factor, factor_beside in ((product.left, product.right), (product.right, product.left)):
        if is_sequence(factor) and is_truth(factor_beside, truths):
            return True
    return False


def is_sequence(node: ast.expr) -> bool:
    """Return whether this is a list, a tuple or a text, as far as the syntax tells."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.List | ast.Tuple | ast.JoinedStr | ast.ListComp)


def is_truth(node: ast.expr, truths: set[str]) -> bool:
    """Return whether this is a truth value, as far as the syntax and the names tell."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
        case ast.BoolOp(values=values):
            return any(is_truth(value, truths) for value in values)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in truths
        case ast.Call(func=ast.Name(id=name)):
            return name in truths | _PREDICATES
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in truths | _METHODS
    return False


def truth_names(modules: Iterable[ast.Module]) -> set[str]:
    """Return the names that are annotated as bool somewhere, and nowhere as something else."""
    truths: set[str] = set()
    not_truths: set[str] = set()
    for module in modules:
        for name, annotation in annotations_of(module):
            is_bool = isinstance(annotation, ast.Name) and annotation.id == "bool"
            (truths if is_bool else not_truths).add(name)
    return truths - not_truths


def annotations_of(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield each annotated argument, variable, attribute and function, with its annotation."""
    for node in ast.walk(module):
        match node:
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                yield name, annotation
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name, node.annotation
            case ast.FunctionDef(name=name, returns=ast.expr() as annotation):
                yield name, annotation


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
