"""The pages of diagnostic codes, as they are written in help/codes.md."""

import re
from pathlib import Path

from kplan.model.dataclass import dataclass

_PAGE_FOLDER = Path(__file__).parent / "help"
_CODE = re.compile(r"^## (?P<code>KP\d+) (?P<title>.+)$", re.MULTILINE)
_NOTE = re.compile(r"^<!--.*-->\n", re.MULTILINE)
"""A line before a block of code: which file it is, or why it is not run."""
FIX_PREFIX = "Fix: "


@dataclass(frozen=True, slots=True)
class CodePage:
    """The page of a code: its title, explanation and fix."""

    code: str
    title: str
    explanation: str
    hint: str


def read_page(name: str) -> str:
    """Read a page of the manual by its name, without the notes for its tests."""
    return _NOTE.sub("", (_PAGE_FOLDER / f"{name}.md").read_text(encoding="utf-8"))


def code_pages() -> dict[str, CodePage]:
    """Read the page of every code."""
    text = read_page("codes")
    found = list(_CODE.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {
        each["code"]: _parse_code_page(each, text[each.end() : end].strip())
        for each, end in zip(found, ends, strict=True)
    }


def _parse_code_page(found: re.Match[str], body: str) -> CodePage:
    why, _, way_out = body.partition(FIX_PREFIX)
    return CodePage(found["code"], found["title"], why.strip(), way_out.strip())
