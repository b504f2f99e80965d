"""Java client settings: properties files, JAAS logins, and our own settings written as such."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from kplan.kafka.settings.connection import (
    ConnectionSettings,
    Mechanism,
    Plain,
    ScramSha256,
    ScramSha512,
    Tls,
)
from kplan.model.dataclass import dataclass
from kplan.model.errors import AuthError

_ESCAPED_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY_END = re.compile(r"(?<!\\)(?:\\\\)*[=:\s]")


@dataclass(frozen=True, slots=True)
class Property:
    """One entry, with the number of the line on which it begins."""

    key: str
    value: str = field(repr=False)
    line: int


def parse_properties(text: str) -> tuple[Property, ...]:
    """Read a file as `java.util.Properties.load` does; of a key given twice both are kept."""
    return tuple(_parse_property(line, number) for line, number in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Join lines that end in an odd number of backslashes with the next; skip comments."""
    pending: str | None = None
    began = 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = natural.lstrip(" \t\f")
        if pending is None:
            if not line or line[0] in "#!":
                continue
            pending, began = "", number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
        else:
            yield pending + line, began
            pending = None
    if pending:
        yield pending, began


def _parse_property(line: str, number: int) -> Property:
    end = _KEY_END.search(line)
    if end is None:
        return Property(_unescape(line), "", number)
    rest = line[end.end() - 1 :].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return Property(_unescape(line[: end.end() - 1]), _unescape(rest), number)


def _unescape(escaped: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPED_CHARACTERS.get(code, code)

    plain = _ESCAPE.sub(character, escaped)
    # Characters beyond 16 bits are written as two escapes.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_JAAS_LOGIN = re.compile(
    r"^\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*$", re.DOTALL
)
_JAAS_OPTION = re.compile(r'([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))')


@dataclass(frozen=True, slots=True)
class JaasLogin:
    """A JAAS login: the class of its module, and its options."""

    module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas_login(line: str) -> JaasLogin | None:
    """Read the value of `sasl.jaas.config`; None where it cannot be read."""
    match = _JAAS_LOGIN.match(line)
    if match is None:
        return None
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
        for name, quoted, bare in _JAAS_OPTION.findall(match[2])
    }
    return JaasLogin(match[1].rpartition(".")[2], options)


_LOGIN_PACKAGE = "org.apache.kafka.common.security"


def java_client_settings(settings: ConnectionSettings) -> dict[str, str]:
    """Write the settings. They contain secrets: not for any log.

    Raises:
        AuthError: the mechanism takes tokens that kplan fetches, which Java would not know of.

    """
    written = {
        "bootstrap.servers": ",".join(str(each) for each in settings.bootstrap_servers),
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
    }
    if settings.tls is not None:
        written |= _tls_properties(settings.tls)
    if settings.sasl is not None:
        written |= {
            "sasl.mechanism": settings.sasl.name,
            "sasl.jaas.config": _jaas_config(settings.sasl),
        }
    return written


def _jaas_config(mechanism: Mechanism) -> str:
    match mechanism:
        case Plain():
            module = f"{_LOGIN_PACKAGE}.plain.PlainLoginModule"
        case ScramSha256() | ScramSha512():
            module = f"{_LOGIN_PACKAGE}.scram.ScramLoginModule"
        case _:
            raise AuthError(
                f"Spark cannot log in with {mechanism.name} as kplan does.",
                "Use a SCRAM user for reading the topic, or name files of logs.",
            )
    name, password = _quote(mechanism.username), _quote(mechanism.password)
    return f"{module} required username={name} password={password};"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _tls_properties(tls: Tls) -> dict[str, str]:
    """Hand over PEM texts (KIP-651). Java has no way not to check certificates at all."""
    written = {
        "ssl.truststore.certificates": tls.ca,
        "ssl.keystore.certificate.chain": tls.certificate,
        "ssl.keystore.key": tls.key,
        "ssl.key.password": tls.key_password,
    }
    found = {key: text for key, text in written.items() if text}
    for store, key in (("truststore", "certificates"), ("keystore", "key")):
        if f"ssl.{store}.{key}" in found:
            found[f"ssl.{store}.type"] = "PEM"
    if not tls.is_host_checked:
        found["ssl.endpoint.identification.algorithm"] = ""
    return found
