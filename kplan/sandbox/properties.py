"""Java properties files, as Kafka and its tools read them."""

import os
from collections.abc import Mapping
from pathlib import Path


def text(properties: Mapping[str, str]) -> str:
    """Return one `key=value` line each, in the order given, ASCII only.

    Escapes are those of `java.util.Properties.load`, which reads ISO 8859-1.
    """
    return "".join(
        f"{_escaped(key, '=: ')}={_escaped(value, '')}\n" for key, value in properties.items()
    )


def write_private(file: Path, content: str) -> None:
    """Write a file that only its owner may read; it is never readable by others in between."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(content)


def _escaped(part: str, also: str) -> str:
    named = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    done = "".join(
        named.get(char) or (f"\\{char}" if char in also else _ascii(char)) for char in part
    )
    return f"\\{done}" if done[:1] in (" ", "#", "!") else done


def _ascii(char: str) -> str:
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
