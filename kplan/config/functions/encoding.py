"""Base64, compression, character sets, URL escapes and hash functions."""

import base64
import binascii
import hashlib
import re
import urllib.parse
import uuid
import zlib
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal, quote
from kplan.config.values.value import NUMBER, STRING, Value

_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_EMPTY_LAST_BLOCK: Final = b"\x01\x00\x00\xff\xff"
_CHARACTER_SET: Final = re.compile(
    r"(?:csiso|iso[-_])?(?:latin[1-9]|8859-?\w+)|iso-2022-jp|us-ascii|utf-(?:8|16|16be|16le)"
    r"|windows-(?:125\d|874)|koi8-[ru]|ibm\d+|macintosh|shift_jis|euc-(?:jp|kr)"
    r"|gbk|gb18030|gb2312|hz-gb-2312|big5",
    re.IGNORECASE,
)
_PYTHON_NAMES: Final = {"macintosh": "mac_roman", "windows-874": "cp874"}


def base64_encode(text: str) -> str:
    """Base64 of the UTF-8 bytes of a text."""
    return base64.b64encode(text.encode()).decode("ascii")


def base64_decode(text: str) -> str:
    """Text whose UTF-8 bytes are encoded in Base64."""
    data = decoded_base64(text)
    if data is None:
        raise Refusal("failed to decode base64 data {}", quote(text))
    try:
        return data.decode()
    except UnicodeDecodeError:
        reason = "the result of decoding the provided string is not valid UTF-8"
        raise Refusal(reason) from None


def decoded_base64(text: str) -> bytes | None:
    """Decode standard Base64 with padding, line ends aside; None if it is not that."""
    compact = text.replace("\r", "").replace("\n", "")
    if len(compact) % 4:
        return None
    try:
        return base64.b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        return None


def base64_gzip(text: str) -> str:
    """Base64 of the gzip-compressed UTF-8 bytes of a text, without a time stamp."""
    data = text.encode()
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    blocks = deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)
    blocks = blocks if data else b"\x00\x00\x00\xff\xff"
    check = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    return base64.b64encode(_GZIP_HEADER + blocks + _EMPTY_LAST_BLOCK + check).decode("ascii")


def text_encode(text: str, character_set: str) -> str:
    """Base64 of a text in a character set, by its IANA name."""
    codec = _codec(character_set)
    try:
        data = b"\xfe\xff" + text.encode("utf-16-be") if codec == "utf-16" else text.encode(codec)
    except UnicodeEncodeError:
        reason = (
            f"the given string contains characters that cannot be represented in {character_set}"
        )
        raise Refusal(reason, argument=0) from None
    return base64.b64encode(data).decode("ascii")


def text_decode(source: str, character_set: str) -> str:
    """Text whose bytes in a character set are encoded in Base64."""
    codec = _codec(character_set)
    data = decoded_base64(source)
    if data is None:
        raise Refusal("the given value has an invalid base64 symbol", argument=0)
    if codec == "utf-16" and not data.startswith((b"\xfe\xff", b"\xff\xfe")):
        codec = "utf-16-be"
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        reason = f"the given string contains symbols that are not defined for {character_set}"
        raise Refusal(reason, argument=0) from None


def _codec(name: str) -> str:
    if _CHARACTER_SET.fullmatch(name):
        codec = _PYTHON_NAMES.get(name.lower(), name.lower())
        try:
            "".encode(codec)
        except LookupError:
            pass
        else:
            return codec
    reason = "{} is not a supported IANA encoding name or alias"
    raise Refusal(reason, quote(name), argument=1)


def url_encode(text: str) -> str:
    """Text as it is in the query of a URL."""
    return urllib.parse.quote_plus(text)


_STR: Final = Parameter("str", STRING)
_ENCODING: Final = Parameter("encoding", STRING)

TEXT_CODES: Final = (
    Function("base64decode", (_STR,), base64_decode),
    Function("base64encode", (_STR,), base64_encode),
    Function("base64gzip", (_STR,), base64_gzip),
    Function("textdecodebase64", (Parameter("source", STRING), _ENCODING), text_decode),
    Function("textencodebase64", (Parameter("string", STRING), _ENCODING), text_encode),
    Function("urlencode", (_STR,), url_encode),
)


_NAMESPACES: Final = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}


def digest(algorithm: str, data: bytes) -> bytes:
    """Hash bytes; none of these hashes is used for security here."""
    return hashlib.new(algorithm, data, usedforsecurity=False).digest()


def hexadecimal(data: bytes) -> str:
    """Write bytes as digits."""
    return data.hex()


def in_base64(data: bytes) -> str:
    """Write bytes as Base64."""
    return base64.b64encode(data).decode("ascii")


def md5(text: str) -> str:
    """MD5 of a text, in digits."""
    return hexadecimal(digest("md5", text.encode()))


def sha1(text: str) -> str:
    """SHA-1 of a text, in digits."""
    return hexadecimal(digest("sha1", text.encode()))


def sha256(text: str) -> str:
    """SHA-256 of a text, in digits."""
    return hexadecimal(digest("sha256", text.encode()))


def sha512(text: str) -> str:
    """SHA-512 of a text, in digits."""
    return hexadecimal(digest("sha512", text.encode()))


def base64sha256(text: str) -> str:
    """SHA-256 of a text, in Base64."""
    return in_base64(digest("sha256", text.encode()))


def base64sha512(text: str) -> str:
    """SHA-512 of a text, in Base64."""
    return in_base64(digest("sha512", text.encode()))


def uuidv5(namespace: str, name: str) -> str:
    """UUID that a name has in a namespace: dns, url, oid, x500 or a UUID."""
    space = _NAMESPACES.get(namespace)
    if space is None:
        try:
            space = uuid.UUID(namespace)
        except ValueError:
            reason = "uuidv5() doesn't support namespace {} (invalid UUID length: {})"
            raise Refusal(reason, namespace, len(namespace.encode())) from None
    return str(uuid.uuid5(space, name))


def bcrypt(*_: Value) -> Value:
    """Refuse: the salt is chosen by chance."""
    raise Refusal("it gives another result each time, and a plan must be repeatable")


def rsadecrypt(*_: Value) -> Value:
    """Refuse: kplan takes secrets from variables, files and the environment only."""
    raise Refusal("kplan does not decrypt; pass the secret as a sensitive variable instead")


HASHES: Final = (
    Function("base64sha256", (_STR,), base64sha256),
    Function("base64sha512", (_STR,), base64sha512),
    Function("bcrypt", (_STR,), bcrypt, Parameter("cost", NUMBER)),
    Function("md5", (_STR,), md5),
    Function(
        "rsadecrypt",
        (Parameter("ciphertext", STRING), Parameter("privatekey", STRING)),
        rsadecrypt,
    ),
    Function("sha1", (_STR,), sha1),
    Function("sha256", (_STR,), sha256),
    Function("sha512", (_STR,), sha512),
    Function("uuidv5", (Parameter("namespace", STRING), Parameter("name", STRING)), uuidv5),
)
