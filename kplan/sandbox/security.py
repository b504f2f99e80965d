"""Making the credentials that a sandbox of a given security needs."""

from pathlib import Path
from typing import assert_never

from kplan.model.errors import SandboxError
from kplan.sandbox.credentials import USERS, Credentials, open_to_all, sasl
from kplan.sandbox.spec import Security


def credentials(security: Security, folder: Path) -> Credentials:
    """Make new throw-away credentials; certificates are written to `folder`.

    Raises:
        SandboxError: TLS is asked for, and what makes certificates is not installed.

    """
    match security:
        case Security.NONE:
            return open_to_all()
        case Security.SASL:
            return sasl()
        case Security.TLS:
            return _tls(folder)
        case _:
            assert_never(security)


def _tls(folder: Path) -> Credentials:
    try:
        from kplan.sandbox.certificates import tls  # noqa: PLC0415 - cryptography is heavy
    except ImportError as failure:
        raise SandboxError(
            f"Certificates cannot be made: {failure.name} is not installed.",
            hint="Install kplan[sandbox].",
        ) from failure
    return tls(folder, (*USERS,))
