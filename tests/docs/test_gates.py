"""The size of things: what ruff does not measure."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "kplan").rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
NO_NAMES = {"utils", "common", "helpers", "core", "manager", "context"}


def test_no_file_is_longer_than_it_can_be_read() -> None:
    long = {
        str(file.relative_to(ROOT)): lines
        for file in FILES
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert long == {}


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines without the docstring: that of a public function lists its arguments."""
    docstring = ast.get_docstring(node, clean=False) or ""
    return (node.end_lineno or node.lineno) - node.lineno + 1 - len(docstring.splitlines())


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{file.relative_to(ROOT)}:{node.name}": lines
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := _code_lines(node)) > LONGEST_FUNCTION
    }
    assert long == {}


def test_a_room_says_in_its_init_what_it_is_and_nothing_else() -> None:
    for file in FILES:
        if file.name == "__init__.py" and file.parent.name not in {"kinds", "kplan"}:
            assert len(ast.parse(file.read_text(encoding="utf-8")).body) == 1, file


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [file for file in FILES if {file.stem, file.parent.name} & NO_NAMES]


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        file
        for file in FILES
        if ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) is None
    ]
    assert silent == []
