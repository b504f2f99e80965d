"""Connectors as declared: what is wrong with them, and where their secrets stay."""

from dataclasses import replace

import pytest

from kplan.kinds.connector import ConnectorKind, KafkaConnector
from kplan.kinds.schema import from_document, to_stored_document

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
