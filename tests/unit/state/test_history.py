"""Earlier states: listed, read, and told apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from kplan.model.address import Address
from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateDiff
from kplan.state.file import write_state
from kplan.state.history import list_backups, list_versions, newest_serial, read_backup
from tests.values import owned, state, topic

ORDERS = owned("kafka_topic.orders", topic("orders"))
AUDIT = owned("kafka_topic.audit", topic("audit"))


def written(path: Path, *states: State) -> None:
    for serial, each in enumerate(states, 1):
        write_state(path, replace(each, serial=serial))


def test_the_history_tells_what_every_state_changed(tmp_path: Path) -> None:
    path = tmp_path / "kplan.json"
    grown = owned("kafka_topic.orders", topic("orders", partitions=9))
    written(path, state(ORDERS), state(ORDERS, AUDIT), state(grown))
    found = list_versions(path)
    assert [(each.serial, each.object_count, each.is_current) for each in found] == [
        (1, 1, False),
        (2, 2, False),
        (3, 1, True),
    ]
    assert [each.diff for each in found] == [
        None,
        StateDiff(added=(Address("kafka_topic", "audit"),)),
        StateDiff(
            changed=(Address("kafka_topic", "orders"),), removed=(Address("kafka_topic", "audit"),)
        ),
    ]


def test_no_state_has_no_history(tmp_path: Path) -> None:
    assert list_versions(tmp_path / "kplan.json") == ()
    assert newest_serial(tmp_path / "kplan.json") == 0


def test_a_damaged_one_is_listed_with_its_fault_and_the_others_are_compared_past_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kplan.json"
    written(path, state(ORDERS), state(ORDERS), state(ORDERS, AUDIT))
    (tmp_path / "backup" / "kplan.json" / "2.json").write_text("{")
    faults = [bool(each.read_error) for each in list_versions(path)]
    assert faults == [False, True, False]
    assert list_versions(path)[2].diff == StateDiff(added=(Address("kafka_topic", "audit"),))


def test_a_backup_is_read_by_its_serial(tmp_path: Path) -> None:
    path = tmp_path / "kplan.json"
    written(path, state(ORDERS), state(AUDIT))
    assert set(read_backup(path, 1).owned) == {Address("kafka_topic", "orders")}
    with pytest.raises(StateError, match="no backup of serial 7; available: 1"):
        read_backup(path, 7)
    list_backups(path)[0].write_text("")
    with pytest.raises(StateCorruptError, match=r"1\.json: It is empty"):
        read_backup(path, 1)


def test_a_damaged_state_counts_as_one_later_than_its_newest_backup(tmp_path: Path) -> None:
    """What replaces it must not take a serial that was used."""
    path = tmp_path / "kplan.json"
    written(path, state(ORDERS), state(AUDIT), state(ORDERS))
    assert newest_serial(path) == 3
    path.write_text("")
    assert newest_serial(path) == 3
    path.unlink()
    assert newest_serial(path) == 2
