"""Making the credentials that a sandbox of a given security needs."""

from pathlib import Path
from typing import assert_never

from kplan.sandbox.credentials import USERS, Credentials, open_to_all, sasl
from kplan.sandbox.spec import Security


def credentials(security: Security, folder: Path) -> Credentials:
    """Make new throw-away credentials; certificates are written to `folder`."""
    match security:
        case Security.NONE:
            return open_to_all()
        case Security.SASL:
            return sasl()
        case Security.TLS:
            from kplan.sandbox.certificates import tls  # noqa: PLC0415 - cryptography is heavy

            return tls(folder, (*USERS,))
        case _:
            assert_never(security)
