"""The messages about the quorum of controllers and the registration of brokers.

Apart from `messages.py`, because only a few commands need them.
"""

# Leaf modules, imported by what asks for the quorum.
from kafka.protocol.admin import (  # noqa: TID253
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafka.protocol.api_message import ApiMessage  # noqa: TID253

from kplan.kafka.wire import schemas
from kplan.kafka.wire.messages import api_of


class UnregisterBrokerRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Take a broker out of the cluster (KIP-631)."""


class UnregisterBrokerResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """What became of it."""


class AddRaftVoterRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Let a controller vote (KIP-853)."""


class AddRaftVoterResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """What became of it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Let a controller vote no more (KIP-853)."""


class RemoveRaftVoterResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """What became of it."""


# Version 1 tells when nodes fetched last (KIP-836), version 2 where controllers listen (KIP-853).
DESCRIBE_QUORUM = api_of("DescribeQuorum", range(3), DescribeQuorumRequest, DescribeQuorumResponse)
UNREGISTER_BROKER = api_of(
    "UnregisterBroker", range(1), UnregisterBrokerRequest, UnregisterBrokerResponse
)
ADD_VOTER = api_of("AddRaftVoter", range(2), AddRaftVoterRequest, AddRaftVoterResponse)
REMOVE_VOTER = api_of("RemoveRaftVoter", range(1), RemoveRaftVoterRequest, RemoveRaftVoterResponse)
