"""The messages about moving replicas and electing leaders.

Apart from `messages.py`, because only a few commands need them.
"""

# Leaf modules, imported by what moves replicas.
from kafka.protocol.admin import (  # noqa: TID253
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from kplan.kafka.wire.messages import api_of

REASSIGN = api_of(
    "AlterPartitionReassignments",
    range(2),
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
REASSIGNMENTS = api_of(
    "ListPartitionReassignments",
    range(1),
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
# Version 1 knows unclean elections (KIP-460).
ELECT = api_of("ElectLeaders", range(1, 3), ElectLeadersRequest, ElectLeadersResponse)
