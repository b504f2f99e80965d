"""SASL exchanges of kafka-python, client side; loaded by a login only."""

from kafka.net.sasl import get_sasl_mechanism  # noqa: TID253
from kafka.net.sasl.oauth import AbstractTokenProvider  # noqa: TID253

from kplan.kafka.settings.connection import PasswordMechanism
from kplan.kafka.token import Token
from kplan.kafka.wire.messages import Message

# A leaf module, imported by a login.


def password_exchange(mechanism: PasswordMechanism) -> Message:
    """Make the exchange of a mechanism that takes a password."""
    # SCRAM reserves two characters in names (RFC 5802, 5.1), which kafka-python leaves as they are.
    is_scram = mechanism.name.startswith("SCRAM-")
    escaped = mechanism.username.replace("=", "=3D").replace(",", "=2C")
    return get_sasl_mechanism(mechanism.name)(
        sasl_mechanism=mechanism.name,
        sasl_plain_username=escaped if is_scram else mechanism.username,
        sasl_plain_password=mechanism.password,
    )


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """A token as kafka-python takes it."""

    def __init__(self, token: Token) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token.text

    def extensions(self) -> dict[str, str]:
        return dict(self._token.extensions)


def bearer_exchange(token: Token) -> Message:
    """Make the exchange of OAUTHBEARER (RFC 7628)."""
    return get_sasl_mechanism("OAUTHBEARER")(sasl_oauth_token_provider=_TokenProvider(token))
