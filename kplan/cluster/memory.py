"""A Kafka cluster in memory that answers as Apache Kafka 4 does, with faults on request."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.cluster import acl_requests, topic_requests
from kplan.cluster.contents import Answer, Contents, HeldTopic
from kplan.cluster.errors import refusal
from kplan.cluster.faults import Call
from kplan.cluster.lag import Lag
from kplan.cluster.memory_moves import MoveRequests, in_sync_of, leader_of, with_leaders
from kplan.cluster.memory_quorum import QuorumRequests
from kplan.cluster.memory_serving import CLUSTER_NAME, answered
from kplan.cluster.memory_tokens import TokenRequests
from kplan.cluster.names import topic_name_fault
from kplan.cluster.specs import (
    AclBinding,
    ClusterDescription,
    ConfigAlteration,
    ConfigEntry,
    NewPartitions,
    NewTopic,
    Rights,
    TopicDescription,
    TopicPreview,
    TopicRef,
    Verdict,
)
from kplan.cluster.topic_configs import effective
from kplan.model.errors import Unread
from kplan.model.refusal import Refusal

KAFKA_INTERNAL = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))
"""Topics that Kafka itself marks internal."""


class MemoryCluster(MoveRequests, QuorumRequests, TokenRequests):
    """One administrator's connection to a cluster in memory.

    Implements the `Cluster` port; every fault that `Faults` offers can be asked of it, and `calls`
    holds every request in order. It is deterministic and may be used from several threads.
    """

    def another_admin(self, principal: str = "User:another") -> "MemoryCluster":
        """Connect a second time to the same cluster, without this connection's faults and log."""
        return MemoryCluster(principal=principal, store=self._store)

    def seed(self, topics: Sequence[NewTopic] = (), acls: Iterable[AclBinding] = ()) -> None:
        """Put objects there without a trace in the log.

        Raises:
            ValueError: the cluster refuses one of them.

        """
        other = self.another_admin()
        verdicts = [*other.create_topics(topics).items(), *other.create_acls([*acls]).items()]
        for item, verdict in verdicts:
            if verdict is not None:
                raise ValueError(f"{item}: {verdict}")

    # What a test may do to the cluster, beside the faults.

    def hide(self, name: str) -> None:
        """Take every right on the topic from us: lists leave it out, asking for it gives 29."""
        self._hidden.add(name)

    def deny(self, operation: str, resource_type: str, name: str = "*") -> None:
        """Take one right from us: `deny("ALTER", "CLUSTER")`, `deny("CREATE", "TOPIC", "orders")`.

        Without CREATE a create answers 29, without rights on the cluster ACL requests answer 31.
        Each method asks for one right only: that some rights imply others is not played.
        """
        self._denied.add((operation, resource_type, name))

    def lag(self, reads: int, brokers: Collection[int] | None = None) -> None:
        """Show us what is written from now on only after `reads` further reads of a broker (P10).

        `brokers` are those that lag, None is all of them. 0 reads end the lag.
        """
        with self._store.lock:
            store, was = self._store, self._lag
            ids = {each.id for each in store.site.brokers} if brokers is None else brokers
            self._lag = Lag(reads, ids, store.contents) if reads else None
            store.lags = [each for each in store.lags if each is not was]
            store.lags += [self._lag] if self._lag else []

    def without_authorizer(self) -> None:
        """Run the cluster without authorizer: it has no ACLs and refuses requests for them."""
        self._store.has_authorizer = False

    def go_down(self, *brokers: int) -> None:
        """Stop the brokers, all of them if none is named."""
        with self._store.lock:
            site = self._store.site
            stopped = frozenset(brokers or (each.id for each in site.brokers))
            self._store.site = replace(site, fenced=site.fenced | stopped)
            self._commit(with_leaders(self._store.contents, self._store.site.fenced))

    def come_back(self) -> None:
        """Start every broker again."""
        with self._store.lock:
            self._store.site = replace(self._store.site, fenced=frozenset())

    # The port.

    def describe(self) -> ClusterDescription:
        """Tell cluster id, live brokers and principal."""
        _, struck = self._read(Call("describe"))
        if struck.refused:
            raise Unread(f"cluster: {struck.refused['']}")
        site = self._store.site
        live = tuple(each for each in site.brokers if each.id not in site.fenced)
        return ClusterDescription(site.cluster_id, live, self._principal, "4.3")

    def rights(self, topics: Collection[str]) -> Rights:
        """Tell what we may do; whoever lacks CREATE on a topic lacks it on the cluster too."""
        contents, _ = self._read(Call("rights", tuple(sorted(topics))))
        seen = [
            name
            for name in sorted(topics)
            if name in contents.topics and self._barred(Call("topics"), name) is None
        ]
        all_of_them = acl_requests.OPERATIONS
        on_topics = [(what, name) for what, sort, name in self._denied if sort == "TOPIC"]
        cluster = {what for what, sort, _ in self._denied if sort == "CLUSTER"}
        cluster |= {"CREATE"} & {what for what, _ in on_topics}
        return Rights(
            all_of_them - cluster,
            {
                name: all_of_them - {what for what, on in on_topics if on in {name, "*"}}
                for name in seen
            },
        )

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        """Describe the named topics, or all that we may see."""
        call = Call("topics", tuple(sorted(names or ())), broker=broker)
        contents, struck = self._read(call)
        found: dict[str, TopicDescription | Refusal] = {}
        for name in call.items if names is not None else sorted(contents.topics):
            barred = self._barred(call, str(name))
            if barred is None or names is not None:
                found[str(name)] = barred or self._described(contents, str(name))
        return answered(found, struck)

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics."""
        call = Call("topic_configs", tuple(sorted(names)), broker=broker)
        contents, struck = self._read(call)
        found: dict[str, Mapping[str, ConfigEntry] | Refusal] = {}
        for name in sorted(names):
            held = contents.topics.get(name)
            barred = self._barred(call, name)
            found[name] = barred or (self._effective(held) if held else _unknown(name))
        return answered(found, struck)

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs."""
        call = Call("acls", broker=broker)
        contents, struck = self._read(call)
        barred = struck.refused.get("") or self._barred(call, CLUSTER_NAME)
        if barred is not None:
            raise Unread(f"ACLs: {barred}")
        return contents.acls

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Tell what would come of creating the topics."""
        answer = self._create_topics("preview_topics", specs)
        return {
            name: self._preview(answer.contents, name) if verdict is None else verdict
            for name, verdict in answer.verdicts.items()
        }

    def expect_writes(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, Verdict]:
        """Create topics."""
        return self._create_topics("create_topics", specs).verdicts

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Grow topics."""
        call = Call("create_partitions", tuple(spec.name for spec in specs), validate_only)
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: topic_requests.create_partitions(found, self._store.site, fine),
        ).verdicts

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Set and reset single config keys of topics."""
        call = Call("alter_topic_configs", tuple(spec.name for spec in specs), validate_only)
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(call, keyed, topic_requests.alter_topic_configs).verdicts

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, Verdict]:
        """Delete topics, by topic id where one is given."""
        call = Call("delete_topics", tuple(ref.name for ref in refs))
        keyed = [(ref.name, ref) for ref in refs]
        return self._write(call, keyed, topic_requests.delete_topics).verdicts

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, Verdict]:
        """Add ACLs."""
        call = Call("create_acls", tuple(bindings))
        keyed = [(binding, binding) for binding in bindings]
        return self._write(call, keyed, acl_requests.create_acls).verdicts

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, Verdict]:
        """Delete exactly these ACLs."""
        call = Call("delete_acls", tuple(bindings))
        keyed = [(binding, binding) for binding in bindings]
        return self._write(call, keyed, acl_requests.delete_acls).verdicts

    def close(self) -> None:
        """Note that the connection was given back; there is nothing to free."""
        self.is_closed = True

    # How a call is served.

    def _create_topics(self, method: str, specs: Sequence[NewTopic]) -> Answer[str]:
        names = tuple(spec.name for spec in specs)
        call = Call(method, names, validate_only=method == "preview_topics")
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: topic_requests.create_topics(found, self._store.site, fine),
        )

    def _described(self, contents: Contents, name: str) -> TopicDescription | Refusal:
        held = contents.topics.get(name)
        if held is None:
            return _unknown(name)
        fenced = self._store.site.fenced
        keys = [(name, number) for number in range(len(held.assignment))]
        return TopicDescription(
            name,
            held.topic_id,
            held.assignment,
            is_internal=name in KAFKA_INTERNAL,
            leaderless=sum(1 for replicas in held.assignment if fenced.issuperset(replicas)),
            leaders=tuple(leader_of(contents, key, fenced) for key in keys),
            in_sync=tuple(in_sync_of(contents, key, fenced) for key in keys),
        )

    def _effective(self, held: HeldTopic) -> Mapping[str, ConfigEntry]:
        return effective(held.config, self._store.site.defaults.topic_configs)

    def _preview(self, contents: Contents, name: str) -> TopicPreview:
        if self._barred(Call("topic_configs"), name):
            return TopicPreview()
        held = contents.topics[name]
        return TopicPreview(len(held.assignment), len(held.assignment[0]), self._effective(held))


def _unknown(name: str) -> Refusal:
    if fault := topic_name_fault(name):
        return refusal(17, f"Topic name is invalid: {fault}")
    return refusal(3, "This server does not host this topic-partition.")
