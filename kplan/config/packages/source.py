"""Sources of modules, as Terraform reads them."""

import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import parse_qsl, urlsplit

from kplan.config.diagnostic import OperandError
from kplan.model.dataclass import dataclass

_FORCED = re.compile(r"([A-Za-z0-9]+)::(.+)", re.DOTALL)
_SCP = re.compile(r"([A-Za-z0-9_.-]+@)?([A-Za-z0-9.-]+):(?!//|:)(\S+)")
_PART = r"[0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?"
_REGISTRY = re.compile(
    rf"(?:([0-9A-Za-z.-]+\.[0-9A-Za-z.-]+(?::\d+)?)/)?({_PART})/({_PART})/({_PART})"
)
_GIT_HOSTS = ("github.com", "gitlab.com", "bitbucket.org")
_ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SECURE = frozenset({"https", "ssh", "file"})
_PLAIN = frozenset({"http", "git"})
_UNSAFE = ("-", "\\")
REGISTRY_HOST = "registry.terraform.io"

WAY_OUT = (
    "Run terraform init, whose .terraform/modules kplan reads, or copy the module beside the "
    "configuration and write its path: ./modules/NAME"
)


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A package of modules outside the configuration.

    `kind` is `git`, `archive`, `registry`, or another word of Terraform's; `address` names the
    package without the folder of the module in it, which is `subfolder`. A git package has `url`
    and `ref`, an archive `url`.
    """

    kind: str
    address: str
    subfolder: str = ""
    url: str = field(default="", repr=False)
    ref: str = ""

    @property
    def can_be_fetched(self) -> bool:
        """Whether `kplan init` fetches it."""
        return self.kind in {"git", "archive"}

    @property
    def full_address(self) -> str:
        """The source as Terraform's list of installed modules writes it."""
        if not self.subfolder:
            return self.address
        path, mark, query = self.address.partition("?")
        return f"{path}//{self.subfolder}{mark}{query}"


def is_local_source(text: str) -> bool:
    """Return whether a source is a folder of the configuration or of the same package."""
    return text.startswith(("./", "../")) or text in {".", ".."}


def parse_source(text: str) -> PackageSource:
    """Read a source that is not local.

    Raises:
        OperandError: it is no source, or one that is not safe.

    """
    address, subfolder = _split_subfolder(text)
    if text.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", text):
        return PackageSource("absolute path", address, subfolder)
    if (found := _REGISTRY.fullmatch(address)) and found[1] not in _GIT_HOSTS:
        host = found[1] or REGISTRY_HOST
        return PackageSource("registry", f"{host}/{found[2]}/{found[3]}/{found[4]}", subfolder)
    if forced := _FORCED.fullmatch(address):
        if forced[1] == "git":
            return _git_source(forced[2], subfolder)
        return PackageSource(forced[1], address, subfolder)
    return _detected_source(address, subfolder)


def _detected_source(address: str, subfolder: str) -> PackageSource:
    host, _, path = address.partition("/")
    if host in _GIT_HOSTS and path.count("/") >= 1:
        owner, _, rest = path.partition("/")
        name, mark, query = rest.partition("?")
        name, _, inner = name.partition("/")
        url = f"https://{host}/{owner}/{name.removesuffix('.git')}.git{mark}{query}"
        return _git_source(url, subfolder or inner)
    if _SCP.fullmatch(address):
        return _git_source(address, subfolder)
    parts = urlsplit(address)
    if parts.scheme in {"http", "https"} and _is_archive(parts.path, parts.query):
        _check_url(address)
        return PackageSource("archive", address, subfolder, address)
    kind = parts.scheme or "unknown"
    return PackageSource(kind, address, subfolder)


def _is_archive(path: str, query: str) -> bool:
    return path.endswith(_ARCHIVES) or "archive" in dict(parse_qsl(query))


def _git_source(text: str, subfolder: str) -> PackageSource:
    base, mark, query = text.partition("?")
    if "://" not in base and (scp := _SCP.fullmatch(base)):
        base = f"ssh://{scp[1] or ''}{scp[2]}/{scp[3].lstrip('/')}"
    if base.startswith("/"):
        base = f"file://{base}"
    _check_url(base)
    options: Mapping[str, str] = dict(parse_qsl(query))
    ref = options.get("ref", "")
    if unknown := sorted(options.keys() - {"ref", "depth"}):
        raise OperandError("KP194", f'"{unknown[0]}" is no option of a git source.')
    if ref.startswith(_UNSAFE):
        raise OperandError("KP194", f'"{ref}" is not the name of a branch, tag or commit.')
    return PackageSource("git", f"git::{base}{mark}{query}", subfolder, base, ref)


def _check_url(text: str) -> None:
    """Refuse what would send a password, or code that nothing protects on the way."""
    try:
        parts = urlsplit(text)
        host, password = parts.hostname or "", parts.password
    except ValueError:
        raise OperandError("KP194", "The address of the source is not valid.") from None
    if password is not None:
        detail = "The address contains a password, which everybody who reads the file has."
        raise OperandError("KP194", detail, "Let git's credential helper or SSH give it.")
    if parts.scheme not in _SECURE | _PLAIN or text.startswith(_UNSAFE) or host.startswith(_UNSAFE):
        raise OperandError("KP194", "The source is not an address.")
    if parts.scheme not in _SECURE and host not in _LOOPBACK:
        detail = f"{parts.scheme}:// neither encrypts nor proves who answers."
        raise OperandError("KP194", detail, "Write https:// or ssh://.")


def _split_subfolder(text: str) -> tuple[str, str]:
    """Part the folder inside a package from the address: `URL//FOLDER?QUERY`."""
    base, mark, query = text.partition("?")
    start = base.find("://") + len("://") if "://" in base else 0
    at = base.find("//", start)
    if at < 0:
        return text, ""
    subfolder = base[at:].strip("/")
    if ".." in subfolder.split("/"):
        raise OperandError("KP194", f'"{subfolder}" leads out of the package.')
    return f"{base[:at]}{mark}{query}", subfolder
