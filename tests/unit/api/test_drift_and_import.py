"""`kplan.drift` and `kplan.import_`: what changed outside, and what exists already."""

import json

import pytest

import kplan
from kplan.cluster.request import ConfigAlteration, NewTopic
from tests.unit.api.conftest import Folder


def test_drift_is_what_another_client_changed(folder: Folder) -> None:
    project = folder.load()
    kplan.apply(kplan.plan(project))
    assert kplan.drift(project).changes == ()
    other = folder.cluster.connect_as()
    other.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "60000"})])
    other.create_topics([NewTopic("stray", 1, 1)])
    found = kplan.drift(project, health=True)
    (change,) = found.changes
    assert str(change.address) == 'kafka_topic.t["orders"]'
    (attribute,) = change.attributes
    assert (attribute.path, attribute.before, attribute.after) == (
        ("config", "retention.ms"), "86400000", "60000",
    )  # fmt: skip
    assert found.is_certain
    assert found.unmanaged == {"kafka_topic": ("stray",)}
    assert found.unhealthy_topics == ()
    assert "retention.ms" in found.to_text()
    assert json.dumps(found.to_dict())
    assert kplan.drift(project, ignore=["kafka_topic/orders config.*"]).changes == ()


def test_drift_without_a_state_is_an_error(folder: Folder) -> None:
    with pytest.raises(kplan.StateError, match="There is no state"):
        kplan.drift(folder.load())


def test_patterns_that_are_one_text_are_refused(folder: Folder) -> None:
    with pytest.raises(kplan.UsageError, match="not text"):
        kplan.drift(folder.load(), ignore="kafka_topic/*")


def test_an_existing_topic_is_owned_at_an_address(folder: Folder) -> None:
    folder.cluster.seed([NewTopic("orders", 2, 1)])
    project = folder.load()
    owned = kplan.import_(project, 'kafka_topic.t["orders"]', "orders")
    assert (str(owned.address), owned.identity) == ('kafka_topic.t["orders"]', "orders")
    change = next(c for c in kplan.plan(project).changes if c.address == owned.address)
    assert change.action is kplan.Action.UPDATE
    with pytest.raises(kplan.UsageError, match="owns orders already"):
        kplan.import_(project, 'kafka_topic.t["orders"]', "orders")


def test_a_whole_cluster_is_declared_and_owned(folder: Folder) -> None:
    folder.write('provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n')
    folder.cluster.seed([NewTopic("eu.orders", 2, 1), NewTopic("us.orders", 2, 1)])
    project = folder.load()
    owned = kplan.import_all(project, folder.path / "eu.tf", prefix="eu.")
    assert [each.identity for each in owned] == ["eu.orders"]
    assert not kplan.plan(project).has_changes
