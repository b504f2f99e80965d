"""The messages about moving replicas and electing leaders."""

from kplan.kafka.wire.api import api_of

REASSIGN = api_of("AlterPartitionReassignments", 45, range(2), "admin.topics")
REASSIGNMENTS = api_of("ListPartitionReassignments", 46, range(1), "admin.topics")
# Version 1 knows unclean elections (KIP-460).
ELECT = api_of("ElectLeaders", 43, range(1, 3), "admin.topics")
