"""Finding one's way in the text of a configuration file."""

import re
from dataclasses import dataclass
from functools import cached_property

from kplan.model.diagnostic import SourceRange
from kplan.report.document import Snippet

_BLOCK = re.compile(
    r'(?P<type>[A-Za-z_][\w-]*)(?P<labels>(?:[ \t]+(?:"[^"]*"|[A-Za-z_][\w-]*))*)[ \t]*\{'
)
_SECRET = re.compile(
    r"""(?ix)
    ( (?: password | passphrase | secret | token | credential | jaas ) [\w.-]* "? \s* [=:] \s* " )
    ( (?: [^"\\] | \\. )+ )
    """
)


@dataclass(frozen=True)
class SourceText:
    """One source, split into lines once; it has no slots, as its lines are cached on it."""

    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Every line, without its end."""
        return tuple(each.removesuffix("\r") for each in self.text.split("\n"))

    @cached_property
    def _line_bytes(self) -> tuple[int, ...]:
        starts = [0]
        for each in self.text.split("\n"):
            starts.append(starts[-1] + len(each.encode()) + 1)
        return tuple(starts)

    def line(self, number: int) -> str | None:
        """Return a line by its number from 1, None where the text has no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def byte(self, number: int, column: int) -> int:
        """Count the bytes of UTF-8 before a place."""
        code = self.line(number)
        if code is None:
            return self._line_bytes[-1] - 1 if number > 0 else 0
        return self._line_bytes[number - 1] + len(code[: column - 1].encode())

    def block_at(self, number: int) -> str:
        """Name the top-level block around a line, `resource "kafka_topic" "orders"`, or ""."""
        for index in range(min(number, len(self.lines)) - 1, -1, -1):
            code = self.lines[index]
            if found := _BLOCK.match(code):
                return found["type"] + re.sub(r"[ \t]+", " ", found["labels"])
            if code.startswith("}") and index != number - 1:
                break
        return ""

    def snippet(self, span: SourceRange) -> Snippet | None:
        """Cut out the first line of a span. What a secret is set to is starred out."""
        code = self.line(span.line)
        if code is None:
            return None
        has_more = span.end_line > span.line
        end = len(code) if has_more else span.end_column - 1
        return Snippet(span.line, without_secrets(code), span.column - 1, end, has_more)


def without_secrets(code: str) -> str:
    """Star out literal secrets, keeping the length so that carets still point right."""
    return _SECRET.sub(lambda found: found[1] + "*" * len(found[2]), code)
