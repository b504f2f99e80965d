"""Where something was written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SourceRange:
    """A span of text. Lines and columns (of characters) start at 1; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        """Write the start of the span as editors and CI annotations read it."""
        return f"{self.file}:{self.line}:{self.column}"
