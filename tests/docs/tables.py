"""What the pages of modules and examples say of them, made from the files themselves."""

import re
from collections.abc import Iterable
from pathlib import Path

from kplan.config.declarations.declaration import Declaration, KnownKinds, ModuleDeclarations
from kplan.config.declarations.file import ModuleFolders
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.config.syntax import tree as ast
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic

Row = tuple[str, ...]


def module_page(folder: Path) -> str:
    """Give the page of a module with its tables of inputs and outputs made anew."""
    found = ModuleFolders(folder, KnownKinds(tuple(kind.name for kind in KINDS))).declarations(".")
    page = (folder / "README.md").read_text(encoding="utf-8")
    page = _with_section(page, "Inputs", _inputs(found))
    return _with_section(page, "Outputs", _outputs(found))


def example_page(folder: Path) -> str:
    """Give the page of an example with its tables of topics and ACLs made anew."""
    values = [each.value for each in load_configuration(folder, Inputs(), KINDS).resources]
    page = (folder / "README.md").read_text(encoding="utf-8")
    page = _with_section(page, "Topics", _topics(each for each in values if type(each) is Topic))
    return _with_section(page, "ACLs", _acls(each for each in values if type(each) is Acl))


def blocks(page: str, language: str) -> list[str]:
    """Give the code blocks of a page that are in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def _inputs(found: ModuleDeclarations) -> str:
    rows = [
        (f"`{each.name}`", f"`{_written(each, 'type')}`", _default(each), _said(each))
        for each in found.variables.values()
    ]
    return _table(("Name", "Type", "Default", "Description"), rows)


def _outputs(found: ModuleDeclarations) -> str:
    rows = [(f"`{each.name}`", _said(each)) for each in found.outputs.values()]
    return _table(("Name", "Description"), rows)


def _topics(topics: Iterable[Topic]) -> str:
    rows = [
        (
            f"`{each.name}`",
            str(each.partitions),
            ", ".join(f"`{key} = {value}`" for key, value in sorted(each.config.items())),
        )
        for each in topics
    ]
    return _table(("Name", "Partitions", "Config"), sorted(rows))


def _acls(acls: Iterable[Acl]) -> str:
    rows = [
        (
            f"`{each.acl_principal}`",
            each.acl_operation,
            each.resource_type,
            ("prefix " if each.resource_pattern_type_filter == "Prefixed" else "")
            + f"`{each.resource_name}`",
        )
        for each in acls
    ]
    return _table(("Principal", "Operation", "Type", "Resource"), sorted(rows))


def _default(found: Declaration) -> str:
    return f"`{_written(found, 'default')}`" if "default" in found.arguments else "(required)"


def _written(found: Declaration, name: str) -> str:
    """Give an argument as it is written, on one line."""
    value = found.arguments[name].value
    lines = [line.strip() for line in found.origin.text(value.start, value.end).splitlines()]
    inner = ", ".join(re.sub(r"\s+=\s+", " = ", line) for line in lines[1:-1])
    return f"{lines[0]} {inner} {lines[-1]}" if inner else lines[0]


def _said(found: Declaration) -> str:
    description = found.arguments["description"].value
    assert isinstance(description, ast.Literal), found.name
    return str(description.value)


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _with_section(page: str, heading: str, body: str) -> str:
    before, found, rest = page.partition(f"\n## {heading}\n")
    assert found, heading
    _, following, after = rest.partition("\n## ")
    return f"{before}{found}\n{body}\n{following}{after}"
