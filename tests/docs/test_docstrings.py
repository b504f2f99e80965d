"""What docstrings name is there: exceptions that are raised, and names in backticks."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREES = {
    file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "kplan").rglob("*.py"))
}
_CLASS = r"`?[A-Z][A-Za-z]*[a-z][A-Za-z]*`?"
_SECTION_ENTRY = re.compile(rf"^ +({_CLASS}(?:, {_CLASS})*): ", re.MULTILINE)
_SENTENCE = re.compile(rf"\b[Rr]aises? (?:an? )?({_CLASS}(?:(?:, | and | or |, and ){_CLASS})*)")
_BACKTICKED = re.compile(r"`([A-Za-z_]\w*)(?:\(\))?`")
EXAMPLES = {"KPLAN_VAR_name", "a_b", "beta1", "pay"}
FOREIGN = {"JsonLayout", "JsonTemplateLayout", "Try"}  # of log4j and of KIP-117


def _raised_names(docstring: str) -> set[str]:
    _, _, section = docstring.partition("Raises:\n")
    lists = _SECTION_ENTRY.findall(section) + _SENTENCE.findall(" ".join(docstring.split()))
    return {each.strip("`") for found in lists for each in re.split(r", and |, | and | or ", found)}


def _docstrings() -> Iterator[tuple[str, str]]:
    """List the docstrings of kplan, each with its place."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{file}:{getattr(node, 'name', '')}", ast.get_docstring(node) or ""


def _exceptions() -> set[str]:
    """Return Python's own exceptions, those of libraries, and the classes that derive from them."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    found = {
        node.name
        for node in nodes
        if isinstance(node, ast.alias) and node.name.endswith(("Error", "Exception"))
    }
    found |= {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    known = 0
    while known != len(found):
        known = len(found)
        found |= {
            node.name for node in classes if found & {ast.unparse(base) for base in node.bases}
        }
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    """List what a module calls things, and the words of its texts other than docstrings."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        for key in ("name", "id", "attr", "arg", "asname"):
            yield getattr(node, key, None) or ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from () if id(node) in docstrings else re.findall(r"\w+", node.value)


def test_the_exceptions_of_a_docstring_are_found_in_both_forms() -> None:
    text = "Read it; a cut one raises `EOFError`.\n\nRaises:\n    OSError, AuthError: None.\n"
    assert _raised_names(text) == {"EOFError", "OSError", "AuthError"}
    assert _raised_names("Raises UsageError and\nFleetError. Raises nothing.") == {
        "UsageError",
        "FleetError",
    }


def test_every_exception_that_a_docstring_names_exists() -> None:
    known = _exceptions()
    absent = {
        place: sorted(names)
        for place, docstring in _docstrings()
        if (names := _raised_names(docstring) - known)
    }
    assert absent == {}


def test_every_name_in_backticks_exists() -> None:
    known = {part for file in TREES for part in file.with_suffix("").parts}
    known |= {name for tree in TREES.values() for name in _names(tree)}
    known |= sys.stdlib_module_names | EXAMPLES | FOREIGN
    absent = {
        place: sorted(names)
        for place, docstring in _docstrings()
        if (names := set(_BACKTICKED.findall(docstring)) - known)
    }
    assert absent == {}
