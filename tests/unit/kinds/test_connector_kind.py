"""Connectors as declared: what is wrong with them, and where their secrets stay."""

from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.connector import SET, ConnectorKind, KafkaConnector
from kplan.kinds.schema import from_document, to_stored_document
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from tests.values import address

KIND = ConnectorKind()
PLUGIN = {"connector.class": "Sink"}
DECLARED = KIND.normalize(
    KafkaConnector("c", {**PLUGIN, "name": "c", "topics": "a"}, {"db.password": "hunter2"})
)
LIVE = KafkaConnector("c", {**PLUGIN, "topics": "a"}, {"db.password": "hunter2"})
STORED = from_document(KafkaConnector, to_stored_document(DECLARED))


def is_equal(live: KafkaConnector, desired: KafkaConnector, *ignored: tuple[str, ...]) -> bool:
    before, after = KIND.align(live, desired, ignored)
    return bool(before == after)


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (KafkaConnector("", PLUGIN), "KP530", "has a name"),
        (KafkaConnector("c", {"a": "b"}), "KP530", "connector.class"),
        (KafkaConnector("c", PLUGIN, state="asleep"), "KP530", "asleep"),
        (KafkaConnector("c", {**PLUGIN, "name": "d"}), "KP530", '"d"'),
        (KafkaConnector("c", {**PLUGIN, "a": "1"}, {"a": "2"}), "KP530", "config_sensitive"),
        (KafkaConnector("c", {**PLUGIN, "connection.password": "x"}), "KP531", "secret"),
        (KafkaConnector("c", {**PLUGIN, "aws.secret.key": "x"}), "KP531", "secret"),
        (KafkaConnector("c", {**PLUGIN, "sasl.jaas.config": "x"}), "KP531", "secret"),
    ],
)
def test_a_wrong_declaration_is_told(value: KafkaConnector, code: str, words: str) -> None:
    (problem,) = KIND.check(value)
    assert problem.code == code
    assert words in problem.detail


@pytest.mark.parametrize("key", ["key.converter", "transforms.a.token.field.name", "secrets.dir"])
def test_not_every_key_that_sounds_so_is_a_secret(key: str) -> None:
    assert list(KIND.check(KafkaConnector("c", {**PLUGIN, key: "x"}))) == []
    reference = {**PLUGIN, "connection.password": "${file:/etc/db:password}"}
    assert list(KIND.check(KafkaConnector("c", reference))) == []


def test_a_secret_that_is_held_is_no_change_and_another_is() -> None:
    assert is_equal(LIVE, DECLARED)
    assert not is_equal(replace(LIVE, config_sensitive={"db.password": "other"}), DECLARED)
    assert not is_equal(replace(LIVE, config_sensitive={}), DECLARED)


def test_the_state_knows_a_secret_by_a_mark_only() -> None:
    assert "hunter2" not in str(to_stored_document(DECLARED))
    live = KIND.fill_from_state(LIVE, STORED)
    assert is_equal(live, STORED)
    other = KIND.fill_from_state(replace(LIVE, config_sensitive={"db.password": "x"}), STORED)
    assert not is_equal(other, STORED)


@pytest.mark.parametrize("mask", ["********", "[hidden]"])
def test_a_secret_that_a_service_masks_is_compared_with_what_was_set_last(mask: str) -> None:
    live = KIND.fill_from_state(replace(LIVE, config_sensitive={"db.password": mask}), STORED)
    assert is_equal(live, DECLARED)
    more = replace(DECLARED, config={**DECLARED.config, "batch.size": "7"})
    assert KIND.align(live, more)[1].config_sensitive == {"db.password": "hunter2"}
    changed = KIND.normalize(replace(DECLARED, config_sensitive={"db.password": "new"}))
    assert not is_equal(live, changed)


def test_a_key_that_is_not_declared_is_to_go_unless_it_is_ignored() -> None:
    live = replace(LIVE, config={**LIVE.config, "batch.size": "7"})
    assert not is_equal(live, DECLARED)
    assert is_equal(live, DECLARED, ("config", "batch.size"))


def test_a_failed_connector_does_not_run_and_one_that_workers_take_on_does() -> None:
    assert not is_equal(replace(LIVE, state="failed"), DECLARED)
    assert is_equal(replace(LIVE, state="unassigned"), DECLARED)
    assert is_equal(replace(LIVE, state="paused"), DECLARED, ("state",))


def test_one_that_workers_take_on_is_stored_as_what_it_will_be() -> None:
    taken_on = replace(LIVE, state="unassigned")
    assert KIND.align(taken_on, DECLARED)[1].state == "running"
    paused = replace(DECLARED, state="paused")
    assert [each.state for each in KIND.align(taken_on, paused)] == ["unassigned", "paused"]
    of_an_older_kplan = replace(DECLARED, state="unassigned")
    assert is_equal(LIVE, of_an_older_kplan)
    assert not is_equal(replace(LIVE, state="paused"), of_an_older_kplan)


@pytest.mark.parametrize(
    "ignored", [(), ("config_sensitive",), ("config_sensitive", "zzz")], ids=str
)
def test_an_ignored_secret_stays_secret_and_is_known_to_the_state(ignored: tuple[str, ...]) -> None:
    """Its name does not say that it is one: only the declaration and the state do."""
    declared = KIND.normalize(replace(DECLARED, config_sensitive={"zzz": "mine"}))
    live = replace(LIVE, config={**LIVE.config, "zzz": "theirs"}, config_sensitive={})
    before, after = KIND.align(live, declared, (ignored,))
    assert before == after
    assert after.config_sensitive == {"zzz": "theirs"}
    stored = from_document(KafkaConnector, to_stored_document(after))
    again = KIND.fill_from_state(live, stored)
    assert "zzz" not in again.config
    assert is_equal(again, stored), "no drift"
    assert is_equal(again, declared, ignored)
    assert not is_equal(KIND.fill_from_state(live, STORED), declared)


def test_an_ignored_secret_that_a_service_masks_is_not_sent_back() -> None:
    live = replace(LIVE, config_sensitive={"db.password": "********"})
    for ignored in (("config_sensitive",), ("config_sensitive", "db.password")):
        before, after = KIND.align(live, DECLARED, (ignored,))
        assert before == after
    more = replace(DECLARED, config_sensitive={**DECLARED.config_sensitive, "a.password": "x"})
    pair = KIND.align(live, KIND.normalize(more), (("config_sensitive", "db.password"),))
    made = Change(address(f"{KIND.name}.c"), KIND.name, Identity("c"), Action.UPDATE, *pair)
    (answer,) = KIND.apply(MemoryCluster(), SET, [made]).values()
    assert isinstance(answer, Refusal)
