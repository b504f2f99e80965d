"""What is owned after changes: no object is lost, whatever was not carried out."""

from hypothesis import given
from hypothesis import strategies as st

from kplan.model.address import Address
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, owned_after
from tests.values import topic

Names = dict[Address, Identity]


def at(index: int) -> Address:
    """Return the address of an instance."""
    return Address("kafka_topic", "t", index)


def owned_names(before: list[str], settled: list[Change]) -> dict[str, str]:
    """Return what is owned where after the settled changes of a list of names."""
    held = {
        at(index): OwnedObject(at(index), Identity(name), topic(name))
        for index, name in enumerate(before)
    }
    pairs = [(each, Outcome(each, OutcomeStatus.APPLIED)) for each in settled]
    found = owned_after(held, pairs)
    assert owned_after(found, pairs) == found, "folding it again changes nothing"
    assert all(place == each.address for place, each in found.items())
    return {str(place): each.identity for place, each in found.items()}


def list_changes(before: list[str], after: list[str]) -> list[Change]:
    """Return the changes from one list of names under `count` to another."""
    changes = [
        Change(
            at(index),
            "kafka_topic",
            Identity(name),
            Action.UPDATE if name in before else Action.CREATE,
            topic(name) if name in before else None,
            topic(name),
            previous=at(before.index(name))
            if name in before and before.index(name) != index
            else None,
        )
        for index, name in enumerate(after)
    ]
    gone = [
        Change(at(index), "kafka_topic", Identity(name), Action.DELETE, topic(name), None)
        for index, name in enumerate(before)
        if name not in after
    ]
    return changes + gone


def test_a_created_object_and_the_one_moved_away_from_its_address_are_both_owned() -> None:
    """The object that was not released is deposed, and the moved one has its address."""
    moved, created, _ = list_changes(["a", "b"], ["b", "c"])
    assert owned_names(["a", "b"], [moved, created]) == {
        "kafka_topic.t[0]": "b",
        "kafka_topic.t[1]": "c",
        'kafka_topic.t["deposed 1"]': "a",
    }


def test_an_object_whose_move_is_not_settled_is_deposed_by_what_takes_its_address() -> None:
    """An apply that was killed has recorded the creation, and not the move."""
    _, created, _ = list_changes(["a", "b"], ["b", "c"])
    assert owned_names(["a", "b"], [created]) == {
        "kafka_topic.t[0]": "a",
        "kafka_topic.t[1]": "c",
        'kafka_topic.t["deposed 1"]': "b",
    }


def test_a_moved_object_stays_where_it_is_while_nothing_else_takes_its_address() -> None:
    """Only then is no address needed that no block declares."""
    moved, _ = list_changes(["a", "b"], ["b"])
    expected = {"kafka_topic.t[0]": "a", "kafka_topic.t[1]": "b"}
    assert owned_names(["a", "b"], [moved]) == expected


def test_the_deletion_of_a_deposed_object_is_folded_in_after_the_rest() -> None:
    """The journal tells of it at the address where the plan found it."""
    moved, created, deleted = list_changes(["a", "b"], ["b", "c"])
    held = {
        place: OwnedObject(place, Identity(name), topic(name))
        for place, name in ((at(0), "a"), (at(1), "b"))
    }
    first = owned_after(held, [(moved, None), (created, None)])
    assert {str(place) for place in owned_after(first, [(deleted, None)])} == {
        "kafka_topic.t[0]",
        "kafka_topic.t[1]",
    }


names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(names, names, st.data())
def test_no_owned_and_no_created_object_is_lost(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    """Whatever part of the changes is settled, each object is owned exactly once."""
    changes = list_changes(before, after)
    settled = [each for each in changes if data.draw(st.booleans())]
    deleted = {each.identity for each in settled if each.after is None}
    made = {each.identity for each in settled if each.after is not None}
    found = owned_names(before, settled)
    assert sorted(found.values()) == sorted(({*before} | made) - deleted)
