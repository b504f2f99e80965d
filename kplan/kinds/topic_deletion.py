"""Deletion of topics: by id, and by name on clusters without ids."""

from collections.abc import Callable, Mapping, Sequence

from kplan.cluster.errors import CLIENT_STALE, client_refusal
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult, TopicRef
from kplan.kinds.topic_layout import align_topic
from kplan.kinds.topic_reader import read_topics
from kplan.kinds.topic_rules import Topic
from kplan.model.plan import Change
from kplan.model.resource import Identity


def delete_topics(
    cluster: Cluster, changes: Sequence[Change], name_of: Callable[[Change], Identity]
) -> Mapping[Identity, ItemResult]:
    """Delete topics by id; those without one only if they are as they were planned.

    `name_of` gives the name that is deleted.
    """
    going = {str(name_of(each)): each for each in changes}
    changed = _changed_topics(
        cluster, [name for name, each in going.items() if not each.uid], going
    )
    refs = [TopicRef(name, going[name].uid) for name in going if name not in changed]
    answers = {**changed, **(cluster.delete_topics(refs) if refs else {})}
    return {going[name].identity: answer for name, answer in answers.items()}


def _changed_topics(
    cluster: Cluster, names: Sequence[str], going: Mapping[str, Change]
) -> Mapping[str, ItemResult]:
    """Refuse topics without id whose partitions, replicas or configs are not those of the plan.

    This is all that tells a topic that was created again from the planned one (KIP-516).
    """
    if not names:
        return {}
    live = read_topics(cluster, [Identity(name) for name in names]).objects
    found: dict[str, ItemResult] = {}
    for name in names:
        planned, now = going[name].before, live.get(Identity(name))
        if now is None or not (isinstance(planned, Topic) and isinstance(now.value, Topic)):
            continue  # absent already, or hidden: the broker decides
        aligned, wanted = align_topic(now.value, planned, ())
        if now.uid or aligned != wanted:
            found[name] = client_refusal(
                CLIENT_STALE, "The topic has no id, and differs from the plan; plan again."
            )
    return found
