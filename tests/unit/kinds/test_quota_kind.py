"""Quotas between a declaration, a cluster and a plan."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import QuotaAlteration, QuotaEntity
from kplan.kinds.quota import REMOVE, REPLACE_REMOVE, REPLACE_SET, SET, Quota, QuotaKind
from kplan.model.codes import SUMMARIES
from kplan.model.errors import UnreadableError
from kplan.model.plan import Action, Change
from tests.values import address

KIND = QuotaKind()
RATE = "producer_byte_rate"
SHAPES = [
    (Quota("user", "alice"), QuotaEntity(user="alice"), "alice|user"),
    (Quota("user"), QuotaEntity(user=""), "<default>|user"),
    (Quota("client-id", "app"), QuotaEntity(client_id="app"), "app|client-id"),
    (Quota("client-id"), QuotaEntity(client_id=""), "<default>|client-id"),
    (Quota("user", "a", "b"), QuotaEntity("a", "b"), "a|user|b"),
    (Quota("user", "a", "<default>"), QuotaEntity("a", ""), "a|user|<default>"),
    (Quota("user", None, "b"), QuotaEntity("", "b"), "<default>|user|b"),
    (Quota("user", None, "<default>"), QuotaEntity("", ""), "<default>|user|<default>"),
    (Quota("user", "a|b", "c\\"), QuotaEntity("a|b", "c\\"), "a\\|b|user|c\\\\"),
]


def change(before: Quota | None, after: Quota | None, action: Action) -> Change:
    value = after or before
    assert value is not None
    return Change(address("kafka_quota.a"), KIND.name, KIND.identify(value), action, before, after)


@pytest.mark.parametrize(("value", "entity", "identity"), SHAPES, ids=str)
def test_every_shape_survives_the_way_there_and_back(
    value: Quota, entity: QuotaEntity, identity: str
) -> None:
    declared = KIND.normalize(
        Quota(value.entity_type, value.entity_name, value.client_id, {RATE: "5"})
    )
    assert KIND.identify(declared) == identity
    assert list(KIND.check(declared)) == []
    cluster = MemoryCluster()
    create = change(None, declared, Action.CREATE)
    assert KIND.validate(cluster, SET, [create]) == {identity: {}}
    assert cluster.quotas() == {}
    assert KIND.apply(cluster, SET, [create]) == {identity: None}
    assert cluster.quotas() == {entity: {RATE: 5.0}}
    reading = KIND.read(cluster, [])
    assert reading.objects[create.identity].value == declared
    assert KIND.is_done(SET, create, reading)
    assert KIND.find_visible(cluster, 1, [create]) == {identity: ""}
    delete = change(declared, None, Action.DELETE)
    assert not KIND.is_done(REMOVE, delete, reading)
    assert KIND.apply(cluster, REMOVE, [delete]) == {identity: None}
    assert cluster.quotas() == {}
    assert KIND.is_done(REMOVE, delete, KIND.read(cluster, []))


def test_an_address_has_its_own_key() -> None:
    assert list(KIND.check(Quota("ip", "10.0.0.1", None, {"connection_creation_rate": "5"}))) == []
    cluster = MemoryCluster()
    cluster.seed_settings(
        [QuotaAlteration(QuotaEntity(ip="10.0.0.1"), {"connection_creation_rate": 5})]
    )
    (live,) = KIND.read(cluster, []).objects.values()
    assert live.value == Quota("ip", "10.0.0.1", None, {"connection_creation_rate": "5"})


@pytest.mark.parametrize(
    ("written", "normal"),
    [("4000000", "4000000"), ("4e6", "4000000"), ("12.50", "12.5"), ("5.0", "5"), ("many", "many")],
)
def test_numbers_have_one_spelling(written: str, normal: str) -> None:
    assert KIND.normalize(Quota("user", "a", None, {RATE: written})).config == {RATE: normal}


def test_words_and_default_entities_have_one_spelling() -> None:
    assert KIND.normalize(Quota("User", "<default>", "")) == Quota("user", None, "<default>")
    assert KIND.normalize(Quota("user", "")) == Quota("user")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Quota("group", "a", None, {RATE: "1"}), ("entity_type",)),
        (Quota("client-id", "a", "b", {RATE: "1"}), ("client_id",)),
        (Quota("user", "a"), ("config",)),
        (
            Quota("user", "a", None, {"connection_creation_rate": "1"}),
            ("config", "connection_creation_rate"),
        ),
        (Quota("ip", "a", None, {RATE: "1"}), ("config", RATE)),
        (Quota("user", "a", None, {RATE: "0"}), ("config", RATE)),
        (Quota("user", "a", None, {RATE: "nan"}), ("config", RATE)),
        (Quota("user", "a", None, {RATE: "much"}), ("config", RATE)),
        (Quota("user", "a", None, {RATE: "1.5"}), ("config", RATE)),
    ],
)
def test_what_kafka_does_not_take_is_told_at_its_place(value: Quota, path: tuple[str, ...]) -> None:
    (problem,) = KIND.check(value)
    assert (problem.code, problem.path) == ("KP224", path)
    assert problem.code in SUMMARIES


def test_an_update_sets_what_differs_and_removes_what_is_not_declared() -> None:
    cluster = MemoryCluster()
    before = Quota("user", "a", None, {RATE: "1", "consumer_byte_rate": "2"})
    after = Quota("user", "a", None, {RATE: "1", "request_percentage": "3.5"})
    cluster.seed_settings([QuotaAlteration(QuotaEntity("a"), {RATE: 1, "consumer_byte_rate": 2})])
    update = change(*KIND.align(before, after), Action.UPDATE)
    assert KIND.record_count(SET, update) == 2
    KIND.apply(cluster, SET, [update])
    assert cluster.quotas() == {QuotaEntity("a"): {RATE: 1.0, "request_percentage": 3.5}}


def test_a_key_that_is_ignored_stays_as_it_is() -> None:
    live = Quota("user", "a", None, {RATE: "1", "consumer_byte_rate": "2"})
    desired = Quota("user", "a", None, {RATE: "5"})
    _, after = KIND.align(live, desired, [("config", "consumer_byte_rate")])
    assert after.config == {RATE: "5", "consumer_byte_rate": "2"}


def test_a_replaced_quota_goes_before_the_other_comes() -> None:
    cluster = MemoryCluster()
    old, new = Quota("user", "a", None, {RATE: "1"}), Quota("user", "b", None, {RATE: "1"})
    cluster.seed_settings([QuotaAlteration(QuotaEntity("a"), {RATE: 1})])
    swap = change(old, new, Action.REPLACE)
    assert KIND.steps(swap) == (REPLACE_REMOVE, REPLACE_SET)
    for step in KIND.steps(swap):
        assert not KIND.is_done(step, swap, KIND.read(cluster, []))
        assert KIND.apply(cluster, step, [swap]) == {"b|user": None}
    assert cluster.quotas() == {QuotaEntity("b"): {RATE: 1.0}}
    assert KIND.find_visible(cluster, 1, [swap]) == {"b|user": ""}


def test_quotas_that_may_not_be_read_are_unread() -> None:
    cluster = MemoryCluster()
    cluster.deny_operation("DESCRIBE_CONFIGS", "CLUSTER")
    with pytest.raises(UnreadableError):
        KIND.read(cluster, [])
