"""`kplan.admin` on every implementation of the port: KIP-117's own test plan (K117-23 to 25)."""

from kplan.admin import LATEST, AdminClient, Cluster, ConfigAlteration, NewPartitions, NewTopic
from tests.contract.clusters import soon


def test_a_batch_of_topics_is_created_listed_altered_and_deleted(
    cluster: Cluster, prefix: str
) -> None:
    admin = AdminClient(cluster)
    first, second, third = (f"{prefix}{each}" for each in "abc")
    topics = [NewTopic(first, 2, 1), NewTopic(second, 1, 9), NewTopic(third, assignment=((1,),))]
    previewed = admin.validate_topics(topics)
    assert [each.is_success for each in previewed.values()] == [True, False, True]
    made = admin.create_topics(topics)
    assert made[first].is_success
    assert made[third].is_success
    assert "INVALID_REPLICATION_FACTOR" in str(made[second].error)
    soon(lambda: {first, third} <= admin.list_topics().keys())
    assert admin.alter_topic_configs([ConfigAlteration(first, {"retention.ms": "1000"})])[
        first
    ].is_success
    assert admin.create_partitions([NewPartitions(first, 3)])[first].is_success
    soon(lambda: len(admin.describe_topics([first])[first].get().assignment) == 3)
    assert admin.list_offsets({(first, 0): LATEST})[first, 0].get() == 0
    gone = admin.delete_topics([first, third, second])
    assert [gone[each].is_success for each in (first, third, second)] == [True, True, False]


def test_every_node_gives_its_versions_and_groups(cluster: Cluster) -> None:
    admin = AdminClient(cluster)
    nodes = {each.id for each in admin.describe_cluster().nodes}
    assert admin.api_versions().keys() == nodes
    assert admin.list_groups().keys() == nodes
    assert all(each.get().apis for each in admin.api_versions().values())
