"""MemoryCluster: one connection to a Kafka cluster in memory, with topics and ACLs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.errors import refusal
from kplan.cluster.memory import controller
from kplan.cluster.memory.connect import ConnectRequests
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.registry import RegistryRequests
from kplan.cluster.memory.settings import TokenRequests
from kplan.cluster.memory.store import (
    CLUSTER_NAME,
    Contents,
    ReadDelay,
    Response,
    StoredTopic,
    apply_faults,
)
from kplan.cluster.memory.topology import (
    QuorumRequests,
    ReassignmentRequests,
    in_sync_replicas,
    partition_leader,
    record_leaders,
)
from kplan.cluster.request import (
    AclBinding,
    AuthorizedOperations,
    ClusterDescription,
    ConfigAlteration,
    ConfigEntry,
    ItemResult,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.topic import effective_configs, topic_name_fault
from kplan.model.errors import Refusal, UnreadableError

INTERNAL_TOPICS = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))
"""Topics that Kafka itself marks internal."""


class MemoryCluster(
    ReassignmentRequests, QuorumRequests, TokenRequests, RegistryRequests, ConnectRequests
):
    """One administrator's connection to a cluster in memory.

    Implements the `Cluster` port; every fault that `Faults` offers can be asked of it, and `calls`
    holds every request in order. It is deterministic and may be used from several threads.
    """

    def connect_as(self, principal: str = "User:another") -> "MemoryCluster":
        """Connect a second time to the same cluster, without this connection's faults and log."""
        return MemoryCluster(principal=principal, store=self._store)

    def seed(self, topics: Sequence[NewTopic] = (), acls: Iterable[AclBinding] = ()) -> None:
        """Put objects there without a trace in the log.

        Raises:
            ValueError: the cluster refuses one of them.

        """
        other = self.connect_as()
        results = [*other.create_topics(topics).items(), *other.create_acls([*acls]).items()]
        for item, result in results:
            if result is not None:
                raise ValueError(f"{item}: {result}")

    # What a test may do to the cluster, beside the faults.

    def hide_topic(self, name: str) -> None:
        """Take every right on the topic from us: lists leave it out, asking for it gives 29."""
        self._hidden.add(name)

    def deny_operation(self, operation: str, resource_type: str, name: str = "*") -> None:
        """Take one right from us: `deny("ALTER", "CLUSTER")`, `deny("CREATE", "TOPIC", "orders")`.

        Without CREATE a create answers 29, without rights on the cluster ACL requests answer 31.
        Each method asks for one right only: that some rights imply others is not played.
        """
        self._denied.add((operation, resource_type, name))

    def delay_reads(self, reads: int, brokers: Collection[int] | None = None) -> None:
        """Delay visibility of later writes by `reads` reads of a broker (P10).

        `brokers` are those that lag, None is all of them. 0 reads end the lag.
        """
        with self._store.lock:
            store, was = self._store, self._lag
            ids = {each.id for each in store.setup.brokers} if brokers is None else brokers
            self._lag = ReadDelay(reads, ids, store.contents) if reads else None
            store.delays = [each for each in store.delays if each is not was]
            store.delays += [self._lag] if self._lag else []

    def disable_authorizer(self) -> None:
        """Run the cluster without authorizer: it has no ACLs and refuses requests for them."""
        self._store.has_authorizer = False

    def stop_brokers(self, *brokers: int) -> None:
        """Stop the brokers, all of them if none is named."""
        with self._store.lock:
            site = self._store.setup
            stopped = frozenset(brokers or (each.id for each in site.brokers))
            self._store.setup = replace(site, fenced=site.fenced | stopped)
            self._commit(record_leaders(self._store.contents, self._store.setup.fenced))

    def start_brokers(self) -> None:
        """Start every broker again."""
        with self._store.lock:
            self._store.setup = replace(self._store.setup, fenced=frozenset())

    # The port.

    def describe(self) -> ClusterDescription:
        """Return cluster id, live brokers and principal."""
        _, faults = self._read(Call("describe"))
        if faults.refused:
            raise UnreadableError(f"cluster: {faults.refused['']}")
        site = self._store.setup
        live = tuple(each for each in site.brokers if each.id not in site.fenced)
        fenced = tuple(each for each in site.brokers if each.id in site.fenced)
        return ClusterDescription(site.cluster_id, live, self._principal, "4.3", fenced=fenced)

    def rights(self, topics: Collection[str]) -> AuthorizedOperations:
        """Return the authorized operations; without CREATE on a topic, none on the cluster."""
        contents, _ = self._read(Call("rights", tuple(sorted(topics))))
        seen = [
            name
            for name in sorted(topics)
            if name in contents.topics and self._check_right(Call("topics"), name) is None
        ]
        all_of_them = controller.OPERATIONS
        on_topics = [(what, name) for what, sort, name in self._denied if sort == "TOPIC"]
        cluster = {what for what, sort, _ in self._denied if sort == "CLUSTER"}
        cluster |= {"CREATE"} & {what for what, _ in on_topics}
        return AuthorizedOperations(
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
        contents, faults = self._read(call)
        found: dict[str, TopicDescription | Refusal] = {}
        for name in call.items if names is not None else sorted(contents.topics):
            refused = self._check_right(call, str(name))
            if refused is None or names is not None:
                found[str(name)] = refused or self._describe_topic(contents, str(name))
        return apply_faults(found, faults)

    def topic_configs(
        self, names: Collection[str], *, broker: int | None = None
    ) -> Mapping[str, Mapping[str, ConfigEntry] | Refusal]:
        """Read every effective config of the named topics."""
        call = Call("topic_configs", tuple(sorted(names)), broker=broker)
        contents, faults = self._read(call)
        found: dict[str, Mapping[str, ConfigEntry] | Refusal] = {}
        for name in sorted(names):
            held = contents.topics.get(name)
            refused = self._check_right(call, name)
            found[name] = refused or (
                self._effective_topic_configs(held) if held else _unknown_topic(name)
            )
        return apply_faults(found, faults)

    def topic_config_fallbacks(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, str] | Refusal]:
        """Read the values that topic configs have without an override."""
        call = Call("topic_config_fallbacks", tuple(sorted(wanted)))
        contents, faults = self._read(call)
        shared = effective_configs({}, self._store.setup.defaults.topic_configs)
        found: dict[str, Mapping[str, str] | Refusal] = {}
        for name in sorted(wanted):
            values = {
                key: value
                for key in sorted(wanted[name])
                if key in shared and (value := shared[key].value) is not None
            }
            refused = self._check_right(call, name)
            found[name] = refused or (values if name in contents.topics else _unknown_topic(name))
        return apply_faults(found, faults)

    def acls(self, *, broker: int | None = None) -> frozenset[AclBinding]:
        """List all ACLs."""
        call = Call("acls", broker=broker)
        contents, faults = self._read(call)
        refused = faults.refused.get("") or self._check_right(call, CLUSTER_NAME)
        if refused is not None:
            raise UnreadableError(f"ACLs: {refused}")
        return contents.acls

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        """Validate the creation of topics without creating them."""
        answer = self._create_topics("preview_topics", specs)
        return {
            name: self._preview(answer.contents, name) if result is None else result
            for name, result in answer.results.items()
        }

    def prepare_writes(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, ItemResult]:
        """Create topics."""
        return self._create_topics("create_topics", specs).results

    def create_partitions(
        self, specs: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Grow topics."""
        call = Call("create_partitions", tuple(spec.name for spec in specs), validate_only)
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: controller.create_partitions(found, self._store.setup, fine),
        ).results

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Set and reset single config keys of topics."""
        call = Call("alter_topic_configs", tuple(spec.name for spec in specs), validate_only)
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(call, keyed, controller.alter_topic_configs).results

    def delete_topics(self, refs: Sequence[TopicRef]) -> Mapping[str, ItemResult]:
        """Delete topics, by topic id where one is given."""
        call = Call("delete_topics", tuple(ref.name for ref in refs))
        keyed = [(ref.name, ref) for ref in refs]
        return self._write(call, keyed, controller.delete_topics).results

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Add ACLs."""
        call = Call("create_acls", tuple(bindings))
        keyed = [(binding, binding) for binding in bindings]
        return self._write(call, keyed, controller.create_acls).results

    def delete_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        """Delete exactly these ACLs."""
        call = Call("delete_acls", tuple(bindings))
        keyed = [(binding, binding) for binding in bindings]
        return self._write(call, keyed, controller.delete_acls).results

    def close(self) -> None:
        """Note that the connection was given back; there is nothing to free."""
        self.is_closed = True

    # How a call is served.

    def _create_topics(self, method: str, specs: Sequence[NewTopic]) -> Response[str]:
        names = tuple(spec.name for spec in specs)
        call = Call(method, names, validate_only=method == "preview_topics")
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: controller.create_topics(found, self._store.setup, fine),
        )

    def _describe_topic(self, contents: Contents, name: str) -> TopicDescription | Refusal:
        held = contents.topics.get(name)
        if held is None:
            return _unknown_topic(name)
        fenced = self._store.setup.fenced
        keys = [(name, number) for number in range(len(held.assignment))]
        return TopicDescription(
            name,
            held.topic_id,
            held.assignment,
            is_internal=name in INTERNAL_TOPICS,
            leaderless=sum(1 for replicas in held.assignment if fenced.issuperset(replicas)),
            leaders=tuple(partition_leader(contents, key, fenced) for key in keys),
            in_sync=tuple(in_sync_replicas(contents, key, fenced) for key in keys),
            offline=tuple(
                tuple(each for each in replicas if each in fenced) for replicas in held.assignment
            ),
        )

    def _effective_topic_configs(self, stored_topic: StoredTopic) -> Mapping[str, ConfigEntry]:
        return effective_configs(stored_topic.config, self._store.setup.defaults.topic_configs)

    def _preview(self, contents: Contents, name: str) -> TopicPreview:
        if self._check_right(Call("topic_configs"), name):
            return TopicPreview()
        held = contents.topics[name]
        return TopicPreview(
            len(held.assignment), len(held.assignment[0]), self._effective_topic_configs(held)
        )


def _unknown_topic(name: str) -> Refusal:
    if fault := topic_name_fault(name):
        return refusal(17, f"Topic name is invalid: {fault}")
    return refusal(3, "This server does not host this topic-partition.")
