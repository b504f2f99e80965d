"""Backslash escapes of quoted strings, and `$${` and `%%{`."""

import re

from kplan.config.syntax.draft import Broken

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([$%])\4(?=\{)", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def unescaped(raw: str, at: int) -> str:
    """Resolve the escapes of quoted text that stands at offset `at` of the file.

    Raises:
        Broken: an escape that HCL does not know.

    """

    def replaced(match: re.Match[str]) -> str:
        code, sign = match[1] or match[2], match[4]
        if sign:
            return sign
        if code and int(code, 16) <= 0x10FFFF and not 0xD800 <= int(code, 16) <= 0xDFFF:  # noqa: PLR2004 - the limits of Unicode
            return chr(int(code, 16))
        if not code and match[3] in _SIMPLE:
            return _SIMPLE[match[3]]
        raise Broken(
            "KP108",
            at + match.start(),
            at + match.end(),
            f"{match[0]} is not an escape sequence.",
            r"Known are \n, \r, \t, \", \\, \uNNNN and \UNNNNNNNN; write \\ for a backslash.",
        )

    return _ESCAPE.sub(replaced, raw)


def heredoc_text(raw: str) -> str:
    """Resolve the only two escapes of heredoc text: `$${` and `%%{`."""
    return raw.replace("$${", "${").replace("%%{", "%{")
