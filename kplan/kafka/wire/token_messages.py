"""The messages about delegation tokens (KIP-48), which kafka-python does not ship.

Apart from `messages.py`, because only a few commands need them.
"""

# A leaf module, imported by what asks for tokens.
from kafka.protocol.api_message import ApiMessage  # noqa: TID253

from kplan.kafka.wire import schemas
from kplan.kafka.wire.messages import api_of


class CreateDelegationTokenRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Make a token."""


class CreateDelegationTokenResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """The token, with its secret."""


class RenewDelegationTokenRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Let a token be valid for longer."""


class RenewDelegationTokenResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Until when it is."""


class ExpireDelegationTokenRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Let a token end sooner, or at once."""


class ExpireDelegationTokenResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """When it does."""


class DescribeDelegationTokenRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """List tokens, those of some owners or all."""


class DescribeDelegationTokenResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """The tokens that we may see, with their secrets."""


# Version 3 makes tokens for others, and tells who made one (KIP-373).
CREATE_TOKEN = api_of(
    "CreateDelegationToken",
    range(1, 4),
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
RENEW_TOKEN = api_of(
    "RenewDelegationToken", range(1, 3), RenewDelegationTokenRequest, RenewDelegationTokenResponse
)
EXPIRE_TOKEN = api_of(
    "ExpireDelegationToken",
    range(1, 3),
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
DESCRIBE_TOKENS = api_of(
    "DescribeDelegationToken",
    range(1, 4),
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
