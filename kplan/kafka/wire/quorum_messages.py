"""The messages about the quorum of controllers and the registration of brokers."""

from kplan.kafka.wire.api import api_of

# Version 1 tells when nodes fetched last (KIP-836), version 2 where controllers listen (KIP-853).
DESCRIBE_QUORUM = api_of("DescribeQuorum", 55, range(3), "admin.cluster")
# kafka-python does not ship those of KIP-631 and KIP-853.
UNREGISTER_BROKER = api_of("UnregisterBroker", 64, range(1))
ADD_VOTER = api_of("AddRaftVoter", 80, range(2))
REMOVE_VOTER = api_of("RemoveRaftVoter", 81, range(1))
