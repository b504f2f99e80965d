"""Certificates and keys: given as text in PEM form, or as the path of a file with it."""

import re
from pathlib import Path

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_LINE = 64
_LONGEST_SHOWN = 120


class NotPem(ValueError):  # noqa: N818 - what was found
    """Neither PEM text nor a file with it; the message says why, `hint` the way out."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


def pem_text(given: str, folder: Path) -> str:
    r"""Give PEM text for PEM text, or for the path of a file; a relative path starts in `folder`.

    Text that lost its line breaks on the way through a properties file or an environment variable
    gets them back, as Kafka's own reader has it; so do line breaks written as `\n`.

    Raises:
        NotPem: the file cannot be read, or is in another format.

    """
    if "-----BEGIN " in given:
        return _normal(given.replace("\\n", "\n"))
    path = folder / Path(given).expanduser()
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as failure:
        raise NotPem(_unread(given, path, failure)) from failure
    if b"-----BEGIN " not in content:
        raise NotPem(
            f'"{path}" is not in PEM form.',
            "Convert a PKCS#12 keystore with openssl pkcs12 -in FILE -nodes -out FILE.pem; "
            "a JKS one first with keytool -importkeystore -deststoretype PKCS12.",
        )
    return _normal(content.decode("ascii", errors="replace"))


def _unread(given: str, path: Path, failure: OSError | ValueError) -> str:
    """Say why; what may be a key that lost its first line is not shown."""
    if len(given) > _LONGEST_SHOWN or "\n" in given or not isinstance(failure, OSError):
        return "the value is neither PEM text nor the path of a file that can be read."
    return f'"{path}" cannot be read: {failure.strerror}.'


def certificates(text: str) -> str:
    """Keep the certificates only, in their order."""
    return "".join(_written(*block) for block in _BLOCK.findall(text) if block[0] == "CERTIFICATE")


def private_key(text: str) -> str:
    """Keep the first private key only."""
    keys = [_written(*block) for block in _BLOCK.findall(text) if block[0].endswith("PRIVATE KEY")]
    return keys[0] if keys else ""


def _normal(text: str) -> str:
    return "".join(_written(*block) for block in _BLOCK.findall(text))


def _written(label: str, body: str) -> str:
    if ":" not in body:  # an old encrypted key has headers, whose line breaks must stay
        packed = "".join(body.split())
        body = "\n".join(packed[at : at + _LINE] for at in range(0, len(packed), _LINE))
    return f"-----BEGIN {label}-----\n{body.strip()}\n-----END {label}-----\n"
