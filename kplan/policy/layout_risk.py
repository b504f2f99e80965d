"""How much to worry about replicas that move, or become fewer."""

from collections.abc import Iterator

from kplan.kinds.topic import Topic
from kplan.kinds.topic_layout import moves
from kplan.model.plan import AttributeChange, Change, Risk
from kplan.policy.setting_risk import Finding


def layout_findings(change: Change, attribute: AttributeChange) -> Iterator[Finding]:
    """Judge a change of the replication factor or of where replicas stand."""
    if attribute.path == ("replica_assignment",) and _moves(change):
        yield Risk.REVIEW, "KP2211 replicas of partitions move between brokers"
    if attribute.path == ("replication_factor",) and _is_less(attribute):
        yield Risk.REVIEW, "KP2212 fewer replicas: less is left when a broker is lost"
        if _is_below_in_sync(change):
            yield Risk.DANGEROUS, "KP2213 fewer replicas than min.insync.replicas: writes stop"


def _moves(change: Change) -> bool:
    """Whether a broker gets a copy that it does not have."""
    before, after = change.before, change.after
    if not isinstance(before, Topic) or not isinstance(after, Topic):
        return False
    stands = dict(enumerate(before.replica_assignment or ()))
    return any(
        set(replicas) - set(stands.get(number, ()))
        for number, replicas in moves(before, after).items()
    )


def _is_less(attribute: AttributeChange) -> bool:
    before, after = attribute.before, attribute.after
    return isinstance(before, int) and isinstance(after, int) and after < before


def _is_below_in_sync(change: Change) -> bool:
    topic = change.after
    if not isinstance(topic, Topic):
        return False
    wanted = topic.config.get("min.insync.replicas", "")
    return wanted.isdigit() and (topic.replication_factor or 0) < int(wanted)
