"""The throttles of moves of replicas: those of kplan, and what others set."""

from collections.abc import Collection, Iterator, Sequence

from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.reassignment import ReassignmentLimits
from kplan.kinds.throttle import (
    foreign_pairs,
    foreign_rates,
    list_removal_command,
    rate_removal_command,
    topic_throttles,
)
from kplan.kinds.throttle_removal import remove_leftover_throttles
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_layout import added_replicas, held_replicas
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ClusterError
from kplan.model.plan import Change
from kplan.state.journal import Journal
from kplan.workflow.clusters import Clusters, Connection
from kplan.workflow.ports import Ports

_MAX_LIST_TEXT = 60


def kinds_with_limits(pace: ReassignmentLimits) -> tuple[ResourceKind, ...]:
    """Return all kinds; that of topics moves replicas with these limits."""
    return tuple(TopicKind(pace) if each.name == TopicKind.name else each for each in KINDS)


def throttle_warnings(changes: Sequence[Change], connection: Connection) -> Iterator[Diagnostic]:
    """Warn of throttles that limit these moves and that kplan did not set for them."""
    yield from _rate_warnings(changes, connection)
    yield from _list_warnings(changes, connection)


def _rate_warnings(changes: Sequence[Change], connection: Connection) -> Iterator[Diagnostic]:
    """Warn of brokers that have a rate already: it stays, and is used in place of ours."""
    used: set[int] = set()
    for each in changes:
        for number, brokers in added_replicas(each.before, each.after).items():
            assert isinstance(each.before, Topic)  # noqa: S101 - only topics move
            used |= {*brokers, *held_replicas(each.before, number)}
    if not used:
        return
    cluster, found = connection.cluster, connection.description
    live = {each.id for each in found.brokers}
    for broker, rates in sorted(foreign_rates(cluster, used & live).items()):
        known = [int(each) for each in rates.values() if each.isdecimal()]
        lowest = f"{min(known):,} bytes/s" if known else "UNKNOWN bytes/s"
        yield Diagnostic(
            "KP217",
            Severity.WARNING,
            SUMMARIES["KP217"],
            f"Broker {broker} has throttle rates that kplan did not set for these moves: "
            f"{lowest}. They stay, and limit what is copied to and from the broker in "
            "place of -throttle. With -throttle=0 kplan throttles no replicas.",
            "If a move that was interrupted left them, remove them first: "
            f"{rate_removal_command(broker, found.security_protocol)}",
        )


def _list_warnings(changes: Sequence[Change], connection: Connection) -> Iterator[Diagnostic]:
    """Warn of topics with throttled replicas that neither kplan added nor someone declared."""
    movers = {
        str(each.identity): each for each in changes if added_replicas(each.before, each.after)
    }
    held = topic_throttles(connection.cluster, movers) if movers else {}
    for name, lists in sorted(held.items()):
        after: Topic = movers[name].after  # type: ignore[assignment] # only topics move
        others = {
            key: foreign_pairs(text) for key, text in lists.items() if key not in after.config
        }
        if keys := [key for key in others if others[key]]:
            yield Diagnostic(
                "KP218",
                Severity.WARNING,
                SUMMARIES["KP218"],
                f"Topic {name} has throttled replicas that kplan did not set: "
                f"{'; '.join(f'{key} is {_shorten(others[key])}' for key in keys)}. They stay: "
                "kplan adds those of the move, and removes only these.",
                "If a move that was interrupted left them, remove them first: "
                f"{list_removal_command(name, keys, connection.description.security_protocol)}",
                movers[name].address,
                movers[name].declared_at,
            )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LIST_TEXT else f"{text[:_MAX_LIST_TEXT]}..."


def remove_stale_throttles(journal: Journal, clusters: Clusters, ports: Ports) -> None:
    """Take away the throttles that an interrupted apply left, where nothing moves any more."""
    # Journals hold no `before`: any topic that was given a place may have moved.
    movers = [
        each
        for each in journal.changes
        if isinstance(each.after, Topic) and each.after.replica_assignment is not None
    ]
    for provider in sorted({each.provider for each in movers} & clusters.connections.keys()):
        names = {str(each.identity) for each in movers if each.provider == provider}
        try:
            remove_leftovers(clusters.connections[provider], names, ports)
        except ClusterError as failure:
            ports.progress.note(f"Throttles of the interrupted move may be left: {failure.detail}")


def remove_leftovers(connection: Connection, topics: Collection[str], ports: Ports) -> None:
    """Take away the throttles that a former move left on topics; say what is gone and what stays.

    Raises:
        ClusterError: the cluster does not answer, or refuses to show what moves.

    """
    removal = remove_leftover_throttles(connection.cluster, topics, ports.clock.sleep)
    if removal.topics:
        ports.progress.note(f"Took throttles of a former move away: {', '.join(removal.topics)}")
    for text in removal.kept_texts(connection.description.security_protocol):
        ports.progress.note(text)
