"""The end of throttles: what is removed when nothing moves any more, and what stays and why."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from types import MappingProxyType

from kplan.cluster.errors import CLIENT_TIMED_OUT, Handling, client_refusal, handling, refusal
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration, ItemResult
from kplan.cluster.settings import ConfigResourceAlteration
from kplan.kinds.throttle import (
    THROTTLE_RATES,
    ThrottledReplicas,
    broker_resource,
    brokers_with_own_rates,
    foreign_pairs,
    list_removal_command,
    rate_removal_command,
    read_throttles,
    shown_rates,
    throttled_brokers,
    topic_throttles,
)
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.resource import Identity

PASSING = frozenset((Handling.RETRY, Handling.THROTTLED, Handling.IN_DOUBT))
"""Refusals of a removal that is tried again."""


@dataclass(frozen=True, slots=True)
class ThrottleRemoval:
    """What came of a removal: `brokers` have no rates of kplan any more, and `topics` no pairs.

    Those that keep them have the reason; `lists` are those of the topics. Rates of `doubtful`
    brokers stay because moves of others may need them.
    """

    brokers: frozenset[int] = frozenset()
    topics: tuple[str, ...] = ()
    kept_rates: Mapping[int, Refusal] = field(default_factory=dict)
    kept_lists: Mapping[str, Refusal] = field(default_factory=dict)
    lists: Mapping[str, ThrottledReplicas] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()

    @property
    def is_passing(self) -> bool:
        """Whether something stays that another try may remove."""
        refused = (*self.kept_rates.values(), *self.kept_lists.values())
        return any(handling(each) in PASSING for each in refused)

    @property
    def is_refused(self) -> bool:
        """Whether something stays that was to be removed."""
        return bool(self.kept_rates or self.kept_lists)

    def after(self, before: "ThrottleRemoval") -> "ThrottleRemoval":
        """Add what a try before this one removed."""
        topics = tuple(sorted({*self.topics, *before.topics}))
        return replace(self, brokers=self.brokers | before.brokers, topics=topics)

    def kept_rate_texts(self, security_protocol: str) -> Iterator[str]:
        """Name the brokers that keep rates, with the reason and the command that removes them."""
        for broker, why in sorted(self.kept_rates.items()):
            yield (
                f"Broker {broker} keeps the throttle rates of the moves, as their removal was "
                f"refused ({_bare(why)}). To remove them once nothing moves: "
                f"{rate_removal_command(broker, security_protocol)}"
            )
        for broker in sorted(self.doubtful - self.kept_rates.keys()):
            yield (
                f"Broker {broker} keeps the throttle rates of kplan: other replicas move, and "
                "whether they need them is unknown. To remove them once nothing moves: "
                f"{rate_removal_command(broker, security_protocol)}"
            )

    def kept_list_text(self, topic: str, security_protocol: str) -> str:
        """Say that a topic keeps pairs of kplan, with the command that removes them."""
        why, lists = self.kept_lists[topic], self.lists.get(topic, {})
        own = [key for key, text in lists.items() if throttled_brokers({topic: {key: text}})]
        if not own:
            return f"Whether topic {topic} keeps throttled replicas is unknown ({_bare(why)})."
        if any(foreign_pairs(lists[key]) for key in own):
            way = "kplan's are those with a 0 before the partition."
        else:
            way = f"To remove them: {list_removal_command(topic, own, security_protocol)}"
        return f"Topic {topic} keeps the throttled replicas of the moves ({_bare(why)}). {way}"

    def kept_texts(self, security_protocol: str) -> Iterator[str]:
        """Name all that stays."""
        yield from self.kept_rate_texts(security_protocol)
        for topic in sorted(self.kept_lists):
            yield self.kept_list_text(topic, security_protocol)

    def note(
        self,
        cluster: Cluster,
        results: Mapping[Identity, ItemResult],
        topics: Iterable[str],
        *,
        has_rates: bool,
    ) -> dict[Identity, ItemResult]:
        """Say at topics whose move is over which throttles stay: the rates once, at the first."""
        found = dict(results)
        if not (self.is_refused or self.doubtful):
            return found
        protocol = cluster.describe().security_protocol
        texts = [*self.kept_rate_texts(protocol)] if has_rates else []
        for name in topics:
            texts += [self.kept_list_text(name, protocol)] if name in self.kept_lists else []
            if texts:
                told, text = found.get(Identity(name)), " ".join(texts)
                found[Identity(name)] = (
                    refusal(_NO_REASSIGNMENT_IN_PROGRESS, text)  # the goal is reached all the same
                    if told is None
                    else replace(told, message=f"{told.message} {text}".strip())
                )
            texts = []
        return found


_NO_REASSIGNMENT_IN_PROGRESS = 85


def _bare(refused: Refusal) -> str:
    return str(refused).rstrip(". ")


def remove_throttles(
    cluster: Cluster,
    topics: Collection[str],
    brokers: Collection[int] = (),
    declared: Mapping[str, ThrottledReplicas] = MappingProxyType({}),
) -> ThrottleRemoval:
    """Remove the throttles of a reassignment; those that are `declared` for topics are restored.

    Rates go first, and lists only where no rate was refused: while a list stands, the next run
    looks for what is left.
    """
    kept_rates = _remove_rates(cluster, brokers)
    found = read_throttles(cluster, topics) if topics else {}
    held = {name: lists for name, lists in found.items() if not isinstance(lists, Refusal)}
    unread = {name: lists for name, lists in found.items() if isinstance(lists, Refusal)}
    kept = {name: why for name, why in unread.items() if handling(why) in PASSING}
    if kept_rates:
        why = next(iter(kept_rates.values()))
        kept |= {name: why for name in held if throttled_brokers({name: held[name]})}
    else:
        kept |= _remove_lists(cluster, held, declared)
    return ThrottleRemoval(
        frozenset(brokers) - kept_rates.keys(),
        tuple(sorted(held.keys() - kept.keys())),
        kept_rates,
        kept,
        {name: held.get(name, {}) for name in kept},
    )


def _remove_rates(cluster: Cluster, brokers: Collection[int]) -> dict[int, Refusal]:
    """Remove rates; return those that stay. What could not be set cannot be removed, either."""
    if not brokers:
        return {}
    answers = cluster.alter_configs(
        [
            ConfigResourceAlteration(broker_resource(each), {}, THROTTLE_RATES)
            for each in sorted(brokers)
        ]
    )
    found = {each: answers.get(broker_resource(each), _NO_ANSWER) for each in sorted(brokers)}
    kept = {broker: why for broker, why in found.items() if why is not None and _is_kept(why)}
    shown = shown_rates(cluster, [each for each in kept if handling(kept[each]) not in PASSING])
    return {broker: why for broker, why in kept.items() if shown.get(broker, True)}


def _remove_lists(
    cluster: Cluster,
    held: Mapping[str, ThrottledReplicas],
    declared: Mapping[str, ThrottledReplicas],
) -> dict[str, Refusal]:
    """Take kplan's pairs out of lists; return the topics that keep some."""
    if not held:
        return {}
    specs = {
        name: _throttle_alteration(name, lists, declared.get(name, {}))
        for name, lists in sorted(held.items())
    }
    answers = cluster.alter_topic_configs(list(specs.values()))
    changed = [name for name, spec in specs.items() if dict(held[name]) != spec.set]
    found = {name: answers.get(name, _NO_ANSWER) for name in changed}
    return {name: why for name, why in found.items() if why is not None and _is_kept(why)}


_NO_ANSWER = client_refusal(CLIENT_TIMED_OUT, "No answer came.")


def _is_kept(refused: Refusal) -> bool:
    """Whether a throttle stays: else it is gone already, or its topic is."""
    return handling(refused) not in {Handling.CONVERGED, Handling.COMPARE}


def _throttle_alteration(
    topic: str, held: ThrottledReplicas, declared: ThrottledReplicas
) -> ConfigAlteration:
    others = {key: rest for key, text in held.items() if (rest := foreign_pairs(text))}
    kept = {**others, **declared}
    return ConfigAlteration(
        topic, kept, tuple(key for key in THROTTLED_REPLICAS if key not in kept)
    )


def remove_leftover_throttles(
    cluster: Cluster, topics: Collection[str], pause: Callable[[float], None] = time.sleep
) -> ThrottleRemoval:
    """Remove throttles of an interrupted reassignment from topics.

    Brokers lose the rates of kplan when no run of it moves anything on the whole cluster any more.
    While a topic still moves, it keeps its throttle: whoever finishes the move takes it away. What
    is refused for the moment is tried again, a few times.

    Raises:
        ClusterError: the cluster does not answer, or refuses to show what moves.

    """
    return repeat_removal(partial(_remove_leftovers, cluster, topics), pause)


def repeat_removal(
    remove: Callable[[], ThrottleRemoval], pause: Callable[[float], None]
) -> ThrottleRemoval:
    """Remove throttles, and again a few times what is refused for the moment."""
    done = ThrottleRemoval()
    for attempt in range(_REMOVAL_TRIES):
        if attempt:
            pause(_REMOVAL_PAUSE_S)
        done = remove().after(done)
        if not done.is_passing:
            break
    return done


_REMOVAL_TRIES = 4
_REMOVAL_PAUSE_S = 1.5


def _remove_leftovers(cluster: Cluster, topics: Collection[str]) -> ThrottleRemoval:
    found = topic_throttles(cluster, topics) if topics else {}
    throttled = {name for name, lists in found.items() if throttled_brokers({name: lists})}
    if not throttled:
        return ThrottleRemoval()
    brokers = brokers_with_own_rates(cluster)
    moving = {name for name, _ in cluster.reassignments()}  # last: one that began needs its rates
    needs = needs_own_rates(cluster, moving)
    free = brokers if needs is False else set()
    removal = remove_throttles(cluster, sorted(throttled - moving), free)
    return replace(removal, doubtful=frozenset(brokers if needs is None else ()))


def needs_own_rates(cluster: Cluster, moving: Collection[str]) -> bool | None:
    """Whether kplan throttles a topic of these, None if that is unknown: its rates stay then.

    Rates limit nothing else: who moves replicas without kplan sets rates of its own.
    """
    found = read_throttles(cluster, moving) if moving else {}
    if any(
        throttled_brokers({name: lists})
        for name, lists in found.items()
        if not isinstance(lists, Refusal)
    ):
        return True
    unread = [each for each in found.values() if isinstance(each, Refusal) and _is_kept(each)]
    return None if unread or found.keys() != set(moving) else False
