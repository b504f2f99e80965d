"""Certificates and keys in PEM form: the subject that brokers see, the end, and what is wrong."""

import re
import ssl
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_LINE_LENGTH = 64
_MAX_SHOWN = 120


class PemError(ValueError):
    """Neither PEM text nor a file with it; the message says why, `hint` the hint."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


def read_pem(given: str, folder: Path) -> str:
    r"""Give PEM text for PEM text, or for the path of a file; a relative path starts in `folder`.

    Text that lost its line breaks on the way through a properties file or an environment variable
    gets them back, as Kafka's own reader has it; so do line breaks written as `\n`.

    Raises:
        PemError: the file cannot be read, or is in another format.

    """
    if "-----BEGIN " in given:
        return _normalize_blocks(given.replace("\\n", "\n"))
    path = folder / Path(given).expanduser()
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as failure:
        raise PemError(_read_failure(given, path, failure)) from failure
    if b"-----BEGIN " not in content:
        raise PemError(
            f'"{path}" is not in PEM form.',
            "Convert a PKCS#12 keystore with openssl pkcs12 -in FILE -nodes -out FILE.pem; "
            "a JKS one first with keytool -importkeystore -deststoretype PKCS12.",
        )
    return _normalize_blocks(content.decode("ascii", errors="replace"))


def _read_failure(given: str, path: Path, failure: OSError | ValueError) -> str:
    """Report the problem; a possible key without its first line is not shown."""
    if len(given) > _MAX_SHOWN or "\n" in given or not isinstance(failure, OSError):
        return "the value is neither PEM text nor the path of a file that can be read."
    return f'"{path}" cannot be read: {failure.strerror}.'


def certificates(text: str) -> str:
    """Keep the certificates only, in their order."""
    return "".join(
        _format_block(*block) for block in _PEM_BLOCK.findall(text) if block[0] == "CERTIFICATE"
    )


def private_key(text: str) -> str:
    """Keep the first private key only."""
    keys = [
        _format_block(*block)
        for block in _PEM_BLOCK.findall(text)
        if block[0].endswith("PRIVATE KEY")
    ]
    return keys[0] if keys else ""


def _normalize_blocks(text: str) -> str:
    return "".join(_format_block(*block) for block in _PEM_BLOCK.findall(text))


def _format_block(label: str, body: str) -> str:
    if ":" not in body:  # an old encrypted key has headers, whose line breaks must stay
        packed = "".join(body.split())
        body = "\n".join(
            packed[at : at + _LINE_LENGTH] for at in range(0, len(packed), _LINE_LENGTH)
        )
    return f"-----BEGIN {label}-----\n{body.strip()}\n-----END {label}-----\n"


_CERTIFICATE_BLOCK = re.compile(
    r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL
)
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
_VALIDITY_FIELD, _SUBJECT_FIELD = 3, 4  # behind serial number, algorithm, issuer (RFC 5280, 4.1)
_TWO_DIGITS_OF_YEAR = 0x17
_LONG_LENGTH = 0x80


def certificate_subject(pem: str) -> str:
    """Write the subject of the first certificate as Java does (RFC 2253), "" where unreadable.

    Brokers make the principal `User:SUBJECT` of it, unless `ssl.principal.mapping.rules` say else.
    """
    try:
        subject = _certificate_field(pem, _SUBJECT_FIELD)
        names = [_format_relative_name(name) for _, name in _der_items(subject)]
    except (ValueError, IndexError):
        return ""
    return ",".join(reversed(names))


def certificate_end(pem: str) -> datetime | None:
    """Return when the first certificate ends, None where unreadable."""
    try:
        _, (tag, end) = _der_items(_certificate_field(pem, _VALIDITY_FIELD))
        layout = "%y%m%d%H%M%SZ" if tag == _TWO_DIGITS_OF_YEAR else "%Y%m%d%H%M%SZ"
        return datetime.strptime(end.decode("ascii"), layout).replace(tzinfo=UTC)
    except (ValueError, IndexError):
        return None


_NAME_MISMATCH = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_OUT_OF_TIME = {9, 10}  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


def is_name_mismatch(failure: ssl.SSLCertVerificationError) -> bool:
    """Whether the certificate of a server is in order but for another name."""
    return failure.verify_code in _NAME_MISMATCH


def verification_hint(failure: ssl.SSLCertVerificationError, authority_hint: str) -> str:
    """Return a hint for a server whose certificate is refused.

    `authority_hint` is for an unknown authority: no authority helps against a wrong name or time.
    """
    if is_name_mismatch(failure):
        return "Use the host name in the certificate."
    if failure.verify_code in _OUT_OF_TIME:
        return (
            "Renew the certificate of the server or of its authority; if both are valid, set the "
            "clock of this machine."
        )
    return authority_hint


def _certificate_field(pem: str, field: int) -> bytes:
    """Return a field of the first certificate; raises ValueError or IndexError without one."""
    block = _CERTIFICATE_BLOCK.search(pem)
    if block is None:
        raise ValueError
    certificate = _first_content(b64decode(block[1]))
    fields = list(_der_items(_first_content(certificate)))
    if fields[0][0] == _EXPLICIT_VERSION:
        fields = fields[1:]
    return fields[field][1]


def _der_items(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Split DER into tags and contents."""
    at = 0
    while at < len(data):
        tag, size, start = data[at], data[at + 1], at + 2
        if size >= _LONG_LENGTH:
            width = size - _LONG_LENGTH
            size = int.from_bytes(data[start : start + width], "big")
            start += width
        at = start + size
        yield tag, data[start:at]


def _first_content(data: bytes) -> bytes:
    return next(_der_items(data))[1]


def _format_relative_name(name: bytes) -> str:
    return "+".join(_format_attribute(pair) for _, pair in _der_items(name))


def _format_attribute(pair: bytes) -> str:
    (_, identifier), (tag, value) = _der_items(pair)
    written = _decode_identifier(identifier)
    keyword = _KEYWORDS.get(written)
    if keyword is None or tag not in _ENCODINGS:
        return f"{keyword or written}=#{_encode_der(tag, value).hex()}"
    return f"{keyword}={_escape_value(value.decode(_ENCODINGS[tag]))}"


def _encode_der(tag: int, value: bytes) -> bytes:
    size = len(value)
    width = (size.bit_length() + 7) // 8
    length = (
        bytes([size])
        if size < _LONG_LENGTH
        else bytes([_LONG_LENGTH + width]) + size.to_bytes(width, "big")
    )
    return bytes([tag]) + length + value


def _decode_identifier(data: bytes) -> str:
    numbers = [data[0] // 40, data[0] % 40] if data[0] < 80 else [2, data[0] - 80]  # noqa: PLR2004 - X.690, 8.19.4
    number = 0
    for byte in data[1:]:
        number = (number << 7) | (byte & 0x7F)
        if byte < _LONG_LENGTH:
            numbers.append(number)
            number = 0
    return ".".join(str(each) for each in numbers)


def _escape_value(text: str) -> str:
    """Escape as Java does, beyond RFC 2253: every "#", "=" and outer blank."""
    escaped = re.sub(r'([,=+"\\<>;#])', r"\\\1", text).replace("\0", "\\00")
    inner = escaped.strip(" ")
    before = len(escaped) - len(escaped.lstrip(" "))
    after = len(escaped) - len(inner) - before
    return "\\ " * before + inner + "\\ " * after
