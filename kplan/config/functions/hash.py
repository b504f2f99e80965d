"""Hash functions of texts, and the two that need a secret or chance."""

import base64
import hashlib
import uuid
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal
from kplan.config.values.value import NUMBER, STRING, Value

_NAMESPACES: Final = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}


def digest(algorithm: str, data: bytes) -> bytes:
    """Hash bytes; none of these hashes protects anything here."""
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


_STR: Final = Parameter("str", STRING)

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
