"""The messages about delegation tokens (KIP-48), which kafka-python does not ship."""

from kplan.kafka.wire.api import api_of

# Version 3 makes tokens for others, and tells who made one (KIP-373).
CREATE_TOKEN = api_of("CreateDelegationToken", 38, range(1, 4))
RENEW_TOKEN = api_of("RenewDelegationToken", 39, range(1, 3))
EXPIRE_TOKEN = api_of("ExpireDelegationToken", 40, range(1, 3))
DESCRIBE_TOKENS = api_of("DescribeDelegationToken", 41, range(1, 4))
