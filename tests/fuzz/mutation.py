"""Edits of texts and documents, drawn by Hypothesis so that a failure shrinks to few of them."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

TOKENS: tuple[bytes, ...] = (
    b'"', b"'", b"${", b"%{", b"}", b"{", b"[", b"]", b"(", b")", b"=", b"==", b",", b".", b"...",
    b":", b"?", b"!", b"-", b"*", b"/", b"%", b"&&", b"||", b"#", b"//", b"/*", b"*/", b"<<EOT\n",
    b"<<-EOT\n", b"\nEOT\n", b"\\", b"\\u", b"\\x00", b"\n", b"\r\n", b"\r", b"\t", b"\x00",
    b"\x1b[2J",
    b"\xff\xfe", b"\xc3", b"\xef\xbb\xbf", "\u202e".encode(), "e\u0301".encode(), b"null", b"true",
    b"false", b"0", b"-1", b"1e999", b"1e-999", b"9" * 400, b"0x10", b"NaN", b"~", b"&a", b"*a",
    b"!!python/object:os.system", b"- ", b"--- \n", b"? ", b"| \n", b"each.key", b"count.index",
    b"self", b"local.x", b"var.x", b"data.x.y", b"for x in", b"for_each", b"count", b"dynamic",
    b"lifecycle {}", b"provider", b"module.m", b'file("/")', b"range(1e9)", b"((((((((",
    b'resource "kafka_topic" "x" {}', b'variable "x" {}', b"depends_on", b"sensitive",
    b"\xf0\x9f\x92\xa9", b"[[[[[[[[",
)  # fmt: skip

VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 2**63, -(2**63) - 1, 1e308, 0.5, "", "x", "\x00", "\u202e",
    "é" * 50,
    "9" * 400, "${x}", "../../x", [], [[]], [None], {}, {"": None}, {"a": {"b": []}},
)  # fmt: skip

_EDIT = st.tuples(
    st.sampled_from(["cut", "insert", "replace", "double", "move", "end"]),
    st.integers(0, 1 << 30),
    st.integers(0, 40),
    st.integers(0, len(TOKENS) - 1),
)
TextEdits = Sequence[tuple[str, int, int, int]]
text_edits: st.SearchStrategy[TextEdits] = st.lists(_EDIT, min_size=1, max_size=5)

_CHANGE = st.tuples(
    st.sampled_from(["set", "drop", "rename", "wrap"]),
    st.integers(0, 1 << 30),
    st.integers(0, len(VALUES) - 1),
)
DocumentEdits = Sequence[tuple[str, int, int]]
document_edits: st.SearchStrategy[DocumentEdits] = st.lists(_CHANGE, min_size=1, max_size=4)


def edit_text(text: bytes, edits: TextEdits) -> bytes:
    """Carry edits out, each at a place counted around the text."""
    for kind, place, length, token in edits:
        at = place % (len(text) + 1)
        end = min(len(text), at + length)
        match kind:
            case "cut":
                text = text[:at] + text[end:]
            case "insert":
                text = text[:at] + TOKENS[token] + text[at:]
            case "replace":
                text = text[:at] + TOKENS[token] + text[end:]
            case "double":
                text = text[:end] + text[at:end] + text[end:]
            case "move":
                text = text[:at] + text[end:] + text[at:end]
            case _:
                text = text[:at]
    return text


def edit_document(document: bytes, edits: DocumentEdits) -> bytes:
    """Carry edits of a JSON document out, each at one of its nodes."""
    found: Any = json.loads(document)
    for kind, place, value in edits:
        nodes = list(_nodes(found))
        if not nodes:
            return json.dumps(VALUES[value]).encode()
        holder, key = nodes[place % len(nodes)]
        if kind == "drop":
            del holder[key]
        elif kind == "rename" and isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        elif kind == "wrap":
            holder[key] = [holder[key]]
        else:
            holder[key] = deepcopy(VALUES[value])
    return json.dumps(found).encode()


def _nodes(found: object) -> Any:  # noqa: ANN401 - pairs of a holder and a key of it
    if isinstance(found, Mapping):
        for key, each in found.items():
            yield found, key
            yield from _nodes(each)
    elif isinstance(found, list):
        for at, each in enumerate(found):
            yield found, at
            yield from _nodes(each)
