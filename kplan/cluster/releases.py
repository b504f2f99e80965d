"""The first release of Kafka with each API that kplan needs, so that what is missing has a name."""

from collections.abc import Mapping

API_RELEASES: Mapping[str, tuple[str, str]] = {
    "AddRaftVoter": ("3.9", "KIP-853"),
    "AlterClientQuotas": ("2.6", "KIP-546"),
    "AlterPartitionReassignments": ("2.4", "KIP-455"),
    "AlterUserScramCredentials": ("2.7", "KIP-554"),
    "ConsumerGroupDescribe": ("4.0", "KIP-848"),
    "DescribeClientQuotas": ("2.6", "KIP-546"),
    "DescribeCluster": ("2.8", "KIP-700"),
    "DescribeProducers": ("2.8", "KIP-664"),
    "DescribeQuorum": ("3.3", "KIP-836, with KRaft only"),
    "DescribeShareGroupOffsets": ("4.1", "KIP-932"),
    "DescribeUserScramCredentials": ("2.7", "KIP-554"),
    "ElectLeaders": ("2.4", "KIP-460"),
    "IncrementalAlterConfigs": ("2.3", "KIP-339"),
    "ListConfigResources": ("4.1", "KIP-1142"),
    "ListPartitionReassignments": ("2.4", "KIP-455"),
    "OffsetDelete": ("2.4", "KIP-496"),
    "RemoveRaftVoter": ("3.9", "KIP-853"),
    "ShareGroupDescribe": ("4.1", "KIP-932"),
    "UnregisterBroker": ("3.3", "KIP-631, with KRaft only"),
    "UpdateFeatures": ("3.3", "KIP-584, KIP-778"),
}
"""Release and proposal by name of the API."""

NAMED_VERSIONS: Mapping[str, str] = {"UpdateFeatures": "UpdateFeatures with levels"}
"""What to say of an API whose first versions kplan does not use."""

USER_ACLS = ("CreateAcls", 3, "ACLs on users", "3.3 (KIP-373)")
"""API, version, name and first release: before, ACLs on users and their operations are refused."""


def first_release(api: str) -> str:
    """Return since when Kafka has an API, as a sentence; "" where it always had it."""
    if api not in API_RELEASES:
        return ""
    release, proposal = API_RELEASES[api]
    what = NAMED_VERSIONS.get(api, api)
    return f"Kafka has {what} since {release} ({proposal})."
