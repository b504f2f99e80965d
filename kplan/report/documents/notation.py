"""Values in HCL notation."""

import re
from collections.abc import Mapping

from kplan.model.resource import Path

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def quoted(text: str) -> str:
    """Write a string as HCL reads it back: nothing in it starts a template."""
    escaped = text.translate(_ESCAPES).replace("${", "$${").replace("%{", "%%{")
    return f'"{escaped}"'


def hcl(value: object) -> str:
    """Write a value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case Mapping():
            pairs = (f"{key_text(key)} = {hcl(value[key])}" for key in sorted(value))
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case list() | tuple() | frozenset() | set():
            return "[" + ", ".join(hcl(each) for each in value) + "]"
        case _:
            return str(value)


def key_text(key: str) -> str:
    """Write a key, quoted where it is no identifier."""
    return key if _IDENTIFIER.fullmatch(key) else quoted(key)


def path_text(path: Path) -> str:
    """Write where an attribute stands: `partitions`, `config["retention.ms"]`."""
    return path[0] + "".join(f"[{quoted(step)}]" for step in path[1:])


def hcl_lines(value: object, indent: int = 0, step: int = 2) -> list[str]:
    """Write a value over as many lines as it has elements, as `terraform output` does.

    The first line is to follow an equals sign; the others come with their indentation, of `step`
    more per level.
    """
    inner = " " * (indent + step)
    match value:
        case Mapping() if value:
            brackets = "{}"
            parts = [(f"{quoted(key)} = ", value[key], "") for key in sorted(value)]
        case list() | tuple() if value:
            brackets = "[]"
            parts = [("", each, ",") for each in value]
        case str() if "\n" in value.rstrip("\n"):
            return ["<<EOT", *value.rstrip("\n").split("\n"), "EOT"]
        case _:
            return [hcl(value)]
    lines = [brackets[0]]
    for before, each, after in parts:
        first, *rest = hcl_lines(each, indent + step, step)
        lines += [f"{inner}{before}{first}", *rest]
        lines[-1] += after
    return [*lines, " " * indent + brackets[1]]
