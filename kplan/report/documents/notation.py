"""Values in HCL notation, and raw numbers of Kafka in readable units."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from kplan.model.resource import Path

_TIME_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_SIZE_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_NO_LIMIT = (1 << 63) - 1
_UNLIMITED_KEYS = ("retention.ms", "retention.bytes")


def unit_meaning(key: str, value: object) -> str:
    """Say a time or size in words (`7d`, `1 GiB`); "" where the key or value is neither.

    Keys ending in `ms` are milliseconds, in `bytes` bytes; -1 and 2^63-1 mean no limit.
    """
    unit = next((each for each in ("ms", "bytes") if key.endswith((f".{each}", f"_{each}"))), "")
    if not unit:
        return ""
    number = _integer(value)
    if number is None:
        return ""
    if number == _NO_LIMIT or (number == -1 and key in _UNLIMITED_KEYS):
        return "no limit"
    if number == -2 and key.startswith("local."):  # noqa: PLR2004 - Kafka's mark for "inherit" (KIP-405)
        return f"as {key.removeprefix('local.')}"
    if number < 0:
        return ""
    return duration_text(number) if unit == "ms" else size_text(number)


def _integer(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def duration_text(milliseconds: int) -> str:
    """Write a duration in its two largest units: `1d 12h`; a leading ~ says that more is cut."""
    parts: list[str] = []
    rest = milliseconds
    for length, unit in _TIME_UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    if not parts:
        return "0"
    return ("~" if len(parts) > 2 else "") + " ".join(parts[:2])  # noqa: PLR2004 - two units


def size_text(count: int) -> str:
    """Write a number of bytes: `1 GiB`, `~1.4 MiB`; "" below 1 KiB, which needs no words."""
    for length, unit in _SIZE_UNITS:
        if count >= length:
            amount = Decimal(count) / length
            shown = amount.quantize(Decimal("0.1")).normalize()
            return f"{'' if shown == amount else '~'}{shown:f} {unit}"
    return ""


def count_text(count: int, noun: str) -> str:
    """Write a number with its noun: `1 topic`, `2 topics`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shorten(text: str, length: int) -> str:
    """Cut a text that is longer than so many characters, and mark that with dots."""
    return text if len(text) <= length else f"{text[:length]}..."


def known_sum(parts: Sequence[int | None]) -> int | None:
    """Add numbers; a sum of which a part is not known is not known."""
    known = [each for each in parts if each is not None]
    return sum(known) if len(known) == len(parts) else None


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def quote_hcl(text: str) -> str:
    """Write a string as HCL reads it back: nothing in it starts a template.

    Controls and marks of direction are escapes: a file must not read otherwise than it is.
    """
    escaped = text.translate(_ESCAPES).replace("${", "$${").replace("%{", "%%{")
    if not escaped.isprintable():
        escaped = "".join(each if each.isprintable() else _escape(each) for each in escaped)
    return f'"{escaped}"'


def hcl_comment(text: str) -> str:
    """Write a text as a comment of one line: names of a cluster may hold what would end it."""
    shown = (
        each if each.isprintable() else _ESCAPES.get(ord(each), _escape(each)) for each in text
    )
    return f"# {''.join(shown)}\n"


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004


def hcl_text(value: object) -> str:
    """Write a value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quote_hcl(value)
        case Mapping():
            pairs = (f"{key_text(key)} = {hcl_text(value[key])}" for key in sorted(value))
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case list() | tuple() | frozenset() | set():
            return "[" + ", ".join(hcl_text(each) for each in value) + "]"
        case _:
            return str(value)


def key_text(key: str) -> str:
    """Write a key, quoted where it is no identifier."""
    return key if _IDENTIFIER.fullmatch(key) else quote_hcl(key)


def path_text(path: Path) -> str:
    """Write the path of an attribute: `partitions`, `config["retention.ms"]`."""
    return path[0] + "".join(f"[{quote_hcl(step)}]" for step in path[1:])


def hcl_lines(value: object, indent: int = 0, step: int = 2) -> list[str]:
    """Write a value over as many lines as it has elements, as `terraform output` does.

    The first line is to follow an equals sign; the others come with their indentation, of `step`
    more per level.
    """
    inner = " " * (indent + step)
    match value:
        case Mapping() if value:
            brackets = "{}"
            parts = [(f"{quote_hcl(key)} = ", value[key], "") for key in sorted(value)]
        case list() | tuple() if value:
            brackets = "[]"
            parts = [("", each, ",") for each in value]
        case str() if "\n" in value.rstrip("\n"):
            return ["<<EOT", *value.rstrip("\n").split("\n"), "EOT"]
        case _:
            return [hcl_text(value)]
    lines = [brackets[0]]
    for before, each, after in parts:
        first, *rest = hcl_lines(each, indent + step, step)
        lines += [f"{inner}{before}{first}", *rest]
        lines[-1] += after
    return [*lines, " " * indent + brackets[1]]
