"""The wall to python-hcl2: all that kplan knows of it, and of lark under it, stands here.

Imported only where text is about to be parsed: the import costs a tenth of a second.
"""

import os
from pathlib import Path
from typing import Any

from hcl2 import parser as _hcl2_parser  # noqa: TID253 - this module is itself imported lazily
from hcl2.api import parses_to_tree  # noqa: TID253
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from kplan.config.syntax.draft import Broken, Draft

_TERMINALS = {
    "RBRACE": "}",
    "RPAR": ")",
    "RSQB": "]",
    "COMMA": "a comma",
    "$END": "the end of the text",
}


def keep_grammar_cache(folder: Path) -> None:
    """Let python-hcl2 keep its grammar cache in `folder` where it cannot write its own place.

    It writes into its installed package and, where that fails, builds the grammar anew at each
    start, which takes 1.7 s (python-hcl2 8.1.4, hcl2/parser.py).
    """
    own: Path = _hcl2_parser.PARSER_FILE
    if own.exists() or os.access(own.parent, os.W_OK):
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    _hcl2_parser.PARSER_FILE = folder / "hcl2-grammar.bin"


def parsed(text: str, draft: Draft) -> Any:  # noqa: ANN401 - lark's tree is untyped here
    """Parse the rewritten text of one item.

    Raises:
        Broken: the text is no HCL.

    """
    try:
        return parses_to_tree(text)
    except UnexpectedToken as unexpected:
        token = unexpected.token
        start = len(text) if token.type == "$END" else token.start_pos
        end = start + max(len(str(token).rstrip("\n")), 1)
    except UnexpectedCharacters as unexpected:
        start, end = unexpected.pos_in_stream, unexpected.pos_in_stream + 1
    raise _broken(draft, min(start, len(text)), min(end, len(text) + 1))


def _broken(draft: Draft, start: int, end: int) -> Broken:
    base = draft.base
    if start in draft.quoted:
        end = draft.quoted[start].end
    found = draft.text[base + start : base + end].strip()
    if not found:
        told = "A value is expected before the line ends."
    else:
        told = f"{found} is not expected here."
    return Broken("KP101", base + start, base + max(end, start + 1), told)
