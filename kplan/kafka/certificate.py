"""The name in a client certificate, as brokers see it."""

import re
from base64 import b64decode
from collections.abc import Iterator

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
_EXPLICIT_VERSION = 0xA0
_SUBJECT = 4  # behind serial number, algorithm, issuer and validity (RFC 5280, 4.1)
_LONG = 0x80


def subject(pem: str) -> str:
    """Write the subject of the first certificate as Java does (RFC 2253), "" where unreadable.

    Brokers make the principal `User:SUBJECT` of it, unless `ssl.principal.mapping.rules` say else.
    """
    block = _BLOCK.search(pem)
    if block is None:
        return ""
    try:
        certificate = _only(b64decode(block[1]))
        fields = list(_parts(_only(certificate)))
        if fields[0][0] == _EXPLICIT_VERSION:
            fields = fields[1:]
        names = [_relative_name(name) for _, name in _parts(fields[_SUBJECT][1])]
    except (ValueError, IndexError):
        return ""
    return ",".join(reversed(names))


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Split DER into tags and contents."""
    at = 0
    while at < len(data):
        tag, size, start = data[at], data[at + 1], at + 2
        if size >= _LONG:
            width = size - _LONG
            size = int.from_bytes(data[start : start + width], "big")
            start += width
        at = start + size
        yield tag, data[start:at]


def _only(data: bytes) -> bytes:
    return next(_parts(data))[1]


def _relative_name(name: bytes) -> str:
    return "+".join(_attribute(pair) for _, pair in _parts(name))


def _attribute(pair: bytes) -> str:
    (_, identifier), (tag, value) = _parts(pair)
    written = _identifier(identifier)
    keyword = _KEYWORDS.get(written)
    if keyword is None or tag not in _ENCODINGS:
        return f"{keyword or written}=#{_encoded(tag, value).hex()}"
    return f"{keyword}={_escaped(value.decode(_ENCODINGS[tag]))}"


def _encoded(tag: int, value: bytes) -> bytes:
    size = len(value)
    width = (size.bit_length() + 7) // 8
    length = bytes([size]) if size < _LONG else bytes([_LONG + width]) + size.to_bytes(width, "big")
    return bytes([tag]) + length + value


def _identifier(data: bytes) -> str:
    numbers = [data[0] // 40, data[0] % 40] if data[0] < 80 else [2, data[0] - 80]  # noqa: PLR2004 - X.690, 8.19.4
    number = 0
    for byte in data[1:]:
        number = (number << 7) | (byte & 0x7F)
        if byte < _LONG:
            numbers.append(number)
            number = 0
    return ".".join(str(each) for each in numbers)


def _escaped(text: str) -> str:
    """Escape as Java does, which goes further than RFC 2253: every "#", "=" and outer blank."""
    escaped = re.sub(r'([,=+"\\<>;#])', r"\\\1", text).replace("\0", "\\00")
    inner = escaped.strip(" ")
    before = len(escaped) - len(escaped.lstrip(" "))
    after = len(escaped) - len(inner) - before
    return "\\ " * before + inner + "\\ " * after
