"""SCRAM credentials between a declaration, a cluster and a plan."""

from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.kinds.schema import (
    schema_fields,
    secret_paths,
    to_document,
    to_reviewed_document,
    to_stored_document,
)
from kplan.kinds.scram import REMOVE, REPLACE_REMOVE, REPLACE_SET, SET, ScramCredential, ScramKind
from kplan.model.codes import SUMMARIES
from kplan.model.errors import UnreadableError
from kplan.model.plan import Action, Change
from tests.values import address

KIND = ScramKind()
ALICE = ScramUser("alice", "SCRAM-SHA-256")
NAME = "alice|SCRAM-SHA-256"
SECRET = "hunter2"


def credential(**given: object) -> ScramCredential:
    """Declare alice, as the configuration is read."""
    values = {"username": "alice", "scram_mechanism": "SCRAM-SHA-256", "password": SECRET}
    return KIND.normalize(ScramCredential(**{**values, **given}))  # type: ignore[arg-type]


def change(before: ScramCredential | None, after: ScramCredential | None, action: Action) -> Change:
    value = after or before
    assert value is not None
    return Change(address(f"{KIND.name}.a"), KIND.name, KIND.identify(value), action, before, after)


def test_a_credential_is_set_read_and_deleted() -> None:
    cluster, create = MemoryCluster(), change(None, credential(), Action.CREATE)
    assert KIND.validate(cluster, SET, [create]) == {}
    assert KIND.apply(cluster, SET, [create]) == {NAME: None}
    assert (cluster.scram_users(), cluster.stored_password(ALICE)) == ({ALICE: 4096}, SECRET)
    reading = KIND.read(cluster, [])
    assert reading.objects[create.identity].value == ScramCredential("alice", "SCRAM-SHA-256")
    assert KIND.is_done(SET, create, reading)
    assert KIND.find_visible(cluster, 1, [create]) == {NAME: ""}
    delete = change(credential(), None, Action.DELETE)
    assert KIND.find_visible(cluster, 1, [delete]) == {}
    assert KIND.apply(cluster, REMOVE, [delete]) == {NAME: None}
    assert KIND.is_done(REMOVE, delete, KIND.read(cluster, []))
    assert KIND.find_visible(cluster, 1, [delete]) == {NAME: ""}


def test_no_document_and_no_repr_holds_the_password() -> None:
    """Design law 11."""
    for value in (credential(), credential(password=None, password_wo=SECRET)):
        shown = [
            repr(value),
            str(to_stored_document(value)),
            repr(change(None, value, Action.CREATE)),
        ]
        assert not [text for text in shown if SECRET in text]
        assert value.password_mark
        assert value.password_mark not in str(to_document(value)), "nobody is shown the mark"
    assert secret_paths(ScramCredential) == {("password",), ("password_wo",)}
    assert "password_mark" not in [each.name for each in schema_fields(ScramCredential)]


def test_a_mark_is_salted_at_random_and_too_short_to_check_a_guess() -> None:
    """The state may be kept in git: nobody must learn there which of many guesses is right."""
    marks = [credential().password_mark for _ in range(20)]
    assert len({each.partition("$")[0] for each in marks}) == 20
    assert {len(each.partition("$")[2]) for each in marks} == {4}, "16 bits"
    live = ScramCredential("alice", "SCRAM-SHA-256", password_mark=marks[0])
    assert KIND.align(live, credential()) == (live, live)
    other = credential(password="other")
    assert KIND.align(live, other) == (live, other)


def test_the_mark_of_an_earlier_version_is_read() -> None:
    old = ScramCredential("alice", "SCRAM-SHA-256", password_mark="e462835d332d6c6e")
    assert KIND.align(old, credential()) == (old, old)
    other = credential(password="other")
    assert KIND.align(old, other) == (old, other)
    for odd in ("", "é", "$", "a$b$c"):
        unread = replace(old, password_mark=odd)
        assert KIND.align(unread, other) == (unread, other)


def test_an_approval_is_not_about_marks() -> None:
    """A checksum in a comment would be another check of guesses."""
    one, other = credential(), credential()
    assert one.password_mark != other.password_mark
    assert to_reviewed_document(one) == to_reviewed_document(other)


def test_what_was_applied_is_recalled_and_compared() -> None:
    live = ScramCredential("alice", "SCRAM-SHA-256")
    same = credential()
    assert KIND.align(live, same) == (live, same), "a password that kplan did not set"
    assert credential(scram_mechanism="scram-sha-256").scram_mechanism == same.scram_mechanism
    known = KIND.fill_from_state(live, replace(same, password=None))
    before, after = KIND.align(known, same)
    assert before == after
    other = credential(password="other")
    assert KIND.align(known, other) == (known, other)
    more = credential(scram_iterations=8192)
    kept = replace(more, password_mark=known.password_mark)
    assert KIND.align(known, more) == (known, kept), "the password is the same"
    assert KIND.align(known, credential(password="other"), [("password",)]) == (known, known)
    assert KIND.align(known, credential(scram_iterations=8192), [("scram_iterations",)]) == (
        known,
        known,
    )
    assert KIND.align(known, credential(password="other"), [()]) == (known, known)


def test_a_write_only_password_is_set_anew_with_another_version_only() -> None:
    first = credential(password=None, password_wo="a", password_wo_version="1")
    known = KIND.fill_from_state(ScramCredential("alice", "SCRAM-SHA-256"), first)
    assert known.password_wo_version == "1"
    again = credential(password=None, password_wo="b", password_wo_version="1")
    assert KIND.align(known, again) == (known, known)
    second = credential(password=None, password_wo="b", password_wo_version="2")
    assert KIND.align(known, second) == (known, second)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"username": ""}, ("username",)),
        ({"scram_mechanism": "PLAIN"}, ("scram_mechanism",)),
        ({"scram_iterations": 4095}, ("scram_iterations",)),
        ({"scram_iterations": 16385}, ("scram_iterations",)),
        ({"password": None}, ()),
        ({"password": " "}, ()),
        ({"password_wo": SECRET}, ()),
        ({"password": None, "password_wo": SECRET}, ("password_wo",)),
    ],
)
def test_what_kafka_does_not_take_is_told_and_no_secret_with_it(
    given: dict[str, object], path: tuple[str, ...]
) -> None:
    (problem,) = KIND.check(credential(**given))
    assert (problem.code, problem.path) == ("KP225", path)
    assert problem.is_warning == (path == ("password_wo",))
    assert problem.code in SUMMARIES
    assert SECRET not in f"{problem}"


def test_a_password_that_is_not_the_planned_one_is_not_sent() -> None:
    """A plan from a file holds no password: without one a request would delete the user."""
    cluster = MemoryCluster()
    bare = replace(credential(), password=None)
    wrong = replace(credential(), password="other")
    for value in (bare, wrong):
        refused = KIND.apply(cluster, SET, [change(None, value, Action.CREATE)])
        assert [each and each.error for each in refused.values()] == ["CLIENT_SECRET_DIFFERS"]
    assert cluster.scram_users() == {}


def test_a_password_without_an_answer_is_in_doubt_unless_the_iterations_tell() -> None:
    before, after = credential(), credential(password="other")
    cluster = MemoryCluster()
    cluster.seed_settings(users=[ScramAlteration(ALICE, 4096, SECRET)])
    reading = KIND.read(cluster, [])
    assert not KIND.is_done(SET, change(before, after, Action.UPDATE), reading)
    assert KIND.is_done(SET, change(None, after, Action.CREATE), reading)
    slower = credential(scram_iterations=8192)
    assert not KIND.is_done(SET, change(before, slower, Action.UPDATE), reading)
    cluster.seed_settings(users=[ScramAlteration(ALICE, 8192, SECRET)])
    assert KIND.is_done(SET, change(before, slower, Action.UPDATE), KIND.read(cluster, []))


def test_a_replaced_user_goes_before_the_other_comes() -> None:
    cluster = MemoryCluster()
    cluster.seed_settings(users=[ScramAlteration(ALICE, 4096, SECRET)])
    swap = change(
        ScramCredential("alice", "SCRAM-SHA-256"), credential(username="bob"), Action.REPLACE
    )
    assert KIND.steps(swap) == (REPLACE_REMOVE, REPLACE_SET)
    assert KIND.find_visible(cluster, 1, [swap]) == {}
    for step in KIND.steps(swap):
        assert not KIND.is_done(step, swap, KIND.read(cluster, []))
        assert KIND.apply(cluster, step, [swap]) == {"bob|SCRAM-SHA-256": None}
    assert cluster.scram_users() == {ScramUser("bob", "SCRAM-SHA-256"): 4096}
    assert KIND.find_visible(cluster, 1, [swap]) == {"bob|SCRAM-SHA-256": ""}


def test_credentials_that_may_not_be_read_are_unread() -> None:
    cluster = MemoryCluster()
    cluster.deny_operation("DESCRIBE", "CLUSTER")
    with pytest.raises(UnreadableError):
        KIND.read(cluster, [])


def test_more_iterations_are_set_with_the_declared_password_where_it_is_ignored() -> None:
    """Kafka has no other way: a credential is made of both."""
    cluster = MemoryCluster()
    cluster.alter_scram_users([ScramAlteration(ALICE, 4096, "another")])
    (live,) = KIND.read(cluster, []).objects.values()
    before, after = KIND.align(live.value, credential(scram_iterations=8192), (("password",),))  # type: ignore[arg-type]
    made = change(before, after, Action.UPDATE)
    assert KIND.apply(cluster, SET, [made]) == {NAME: None}
    assert (cluster.scram_users(), cluster.stored_password(ALICE)) == ({ALICE: 8192}, SECRET)
