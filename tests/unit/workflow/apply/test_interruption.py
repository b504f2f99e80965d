"""An apply that is killed at any moment, and what comes after it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.request import NewTopic, TopicDescription
from kplan.config.inputs import VariableText
from kplan.model.errors import KplanError, StalePlanError, StateError, UsageError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.model.state import State
from kplan.state.file import read_state
from kplan.state.journal import journal_path, read_journal
from kplan.state.plan_file import read_plan
from kplan.workflow.adopt.import_ import import_object
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.drift import detect_drift
from kplan.workflow.plan.plan import PlanResult, save_plan
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from kplan.workflow.state.move import move_objects
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, Killed, ProjectHarness

WRITES = ("create_acls", "create_topics", "delete_acls", "delete_topics", "alter_topic_configs")
NEXT = (
    MAIN_TF.replace('"Read"', '"Write"').replace("86400000", "3600000").replace("payments = 6", "")
)


DAY = {"retention.ms": "86400000"}


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


def killed(site: ProjectHarness, call: str, *, after: bool) -> bool:
    """Apply, and be killed before or after the call is served; tell whether that happened."""

    def strike() -> None:
        raise Killed

    def approve(_: PlanResult) -> bool:
        if after:
            site.cluster.run_before(call, lambda: site.cluster.run_before("topics", strike))
            site.cluster.run_before(call, lambda: site.cluster.run_before("acls", strike))
        else:
            site.cluster.run_before(call, strike)
        return True

    try:
        site.apply(approve)
    except Killed:
        return True
    finally:
        site.cluster.clear_faults()
    return False


def resumed(site: ProjectHarness) -> None:
    resume_apply(
        site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
    )


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", WRITES)
def test_an_apply_killed_at_any_request_is_resumed_to_the_goal(
    site: ProjectHarness, call: str, after: bool
) -> None:
    """S29, plan-apply.md 7.1."""
    if call.startswith(("delete", "alter")):
        site.apply()
        site.write(NEXT)
    assert killed(site, call, after=after)
    journal = read_journal(site.project.state_path)
    assert journal is not None
    resumed(site)
    assert not site.plan().plan.has_changes
    assert not journal_path(site.project.state_path).exists()
    live = set(site.cluster.topics())
    assert {each.identity for each in list_owned_objects(site.project)} >= live


@pytest.mark.parametrize("is_moving", [False, True])
def test_what_an_interrupted_apply_did_is_no_change_of_somebody_else(
    tmp_path: Path, *, is_moving: bool
) -> None:
    brokers = make_brokers(3)
    site = ProjectHarness(tmp_path, MemoryCluster(brokers))
    topic = 'resource "kafka_topic" "a" {{\n  name = "a"\n  replica_assignment = [[{}]]\n}}\n'
    site.write(topic.format(1) if is_moving else MAIN_TF)
    site.apply()
    site.write(topic.format(2) if is_moving else NEXT)
    site.cluster.slow_reassignments(99)
    assert killed(site, "reassign" if is_moving else "alter_topic_configs", after=True)
    assert site.plan().plan.drift == ()
    assert detect_drift(site.project, site.ports).changes == ()


def test_an_apply_after_a_killed_one_takes_its_outcomes_over(site: ProjectHarness) -> None:
    assert killed(site, "create_topics", after=False)
    assert len(list_owned_objects(site.project)) == 0
    site.apply()
    assert len(list_owned_objects(site.project)) == 3
    assert not journal_path(site.project.state_path).exists()


def test_a_plan_after_a_killed_apply_knows_what_was_done_and_writes_nothing(
    site: ProjectHarness,
) -> None:
    assert killed(site, "create_topics", after=False)
    before = journal_path(site.project.state_path).read_bytes()
    kinds = [each.kind for each in site.plan().plan.changes if each.touches_cluster]
    assert kinds == ["kafka_topic", "kafka_topic"]
    assert journal_path(site.project.state_path).read_bytes() == before


def test_a_resumed_destroy_creates_nothing(site: ProjectHarness) -> None:
    site.apply()
    site.cluster.run_before("delete_topics", lambda: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        site.apply(is_destroy=True)
    resumed(site)
    assert site.cluster.topics() == {}
    assert site.cluster.acls() == frozenset()


def test_what_was_to_be_deleted_and_is_declared_again_is_left_alone_by_resume(
    site: ProjectHarness,
) -> None:
    site.apply()
    site.write(MAIN_TF.replace(", payments = 6", ""))
    assert killed(site, "delete_topics", after=False)
    site.write(MAIN_TF)
    resumed(site)
    assert "payments" in site.cluster.topics()
    assert not site.plan().plan.has_changes


def test_resume_does_what_was_approved_and_nothing_more(site: ProjectHarness) -> None:
    assert killed(site, "create_topics", after=False)
    site.write(MAIN_TF.replace("orders = 3,", "orders = 3, late = 1,"))
    resumed(site)
    assert "late" not in site.cluster.topics()


def test_there_is_nothing_to_resume_after_an_apply_that_ended(site: ProjectHarness) -> None:
    site.apply()
    with pytest.raises(UsageError):
        resumed(site)


def test_a_journal_that_cannot_be_written_stops_the_apply_before_its_first_request(
    site: ProjectHarness,
) -> None:
    site.project.state_path.parent.mkdir()
    journal_path(site.project.state_path).mkdir()
    with pytest.raises(StateError):
        site.apply()
    assert site.cluster.count("create_topics") == 0


def test_a_plan_right_after_an_apply_waits_for_what_is_not_visible_yet(
    site: ProjectHarness,
) -> None:
    """Trap 2: the same creates would be proposed again."""
    from kplan.apply.limits import Limits

    impatient = PlanOptions(limits=Limits(visible_s=0.1))
    site.cluster.run_before("create_topics", lambda: site.cluster.delay_reads(12))
    apply(site.project, impatient, site.ports, ApplyHandlers(lambda _: True, site.watcher))
    state = read_state(site.project.state_path)
    assert state is not None
    assert any(each.is_pending for each in state.owned.values())
    assert not site.plan().plan.has_changes


def completed(folder: Path) -> State:
    """Give the state that an apply of the same comes to when nobody interrupts it."""
    folder.mkdir()
    other = ProjectHarness(folder, MemoryCluster())
    other.write(MAIN_TF)
    other.apply()
    return state_of(other)


def state_of(site: ProjectHarness) -> State:
    state = read_state(site.project.state_path)
    assert state is not None
    return state


@pytest.mark.parametrize("call", ["create_acls", "create_topics"])
@pytest.mark.parametrize("after", [False, True])
def test_a_resumed_apply_brings_the_outputs_to_the_state(
    site: ProjectHarness, tmp_path: Path, call: str, after: bool
) -> None:
    assert killed(site, call, after=after)
    resumed(site)
    whole = completed(tmp_path / "other")
    assert state_of(site).outputs == whole.outputs
    assert set(whole.outputs) == {"names"}


def test_an_apply_killed_while_it_wrote_the_state_brings_the_outputs_when_resumed(
    site: ProjectHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to be sent then."""

    def strike(_: Path, __: State) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("kplan.state.file.write_state", strike)
        with pytest.raises(Killed):
            site.apply()
    assert read_state(site.project.state_path) is None
    resumed(site)
    assert state_of(site).outputs == completed(tmp_path / "other").outputs


@pytest.mark.parametrize("goes_on", [resumed, ProjectHarness.apply])
def test_a_saved_plan_whose_apply_was_killed_counts_as_applied_once_it_is_finished(
    site: ProjectHarness, tmp_path: Path, goes_on: Callable[[ProjectHarness], object]
) -> None:
    """Otherwise it could be begun a second time."""
    file = tmp_path / "release.kplan"
    save_plan(site.plan(), file, site.ports.now())
    site.cluster.run_before("create_topics", lambda: (_ for _ in ()).throw(Killed()))
    outside = (site.ports, ApplyHandlers(lambda _: True, site.watcher))
    with pytest.raises(Killed):
        apply_saved(site.project, file, PlanOptions(), outside)
    with pytest.raises(StalePlanError, match="was started and interrupted") as told:
        apply_saved(site.project, file, PlanOptions(), outside)
    assert told.value.hint == "Do the rest of it: kplan apply -resume"
    goes_on(site)
    (applied,) = (each for each in state_of(site).applied_plans if each.nonce)
    assert applied.checksum == read_plan(file).metadata.checksum
    with pytest.raises(StalePlanError, match="applied already"):
        apply_saved(site.project, file, PlanOptions(), outside)


@pytest.mark.parametrize("goes_on", [resumed, ProjectHarness.apply])
def test_a_stop_between_requests_leaves_a_journal_to_go_on_from(
    site: ProjectHarness, goes_on: Callable[[ProjectHarness], object]
) -> None:
    ports = replace(site.ports, is_stopped=lambda: bool(site.watcher.sent))
    done = apply(site.project, PlanOptions(), ports, ApplyHandlers(lambda _: True, site.watcher))
    assert (len(done.outcomes), done.is_resumable) == (3, True)
    assert len(list_owned_objects(site.project)) == 1
    goes_on(site)
    assert not site.plan().plan.has_changes
    assert not journal_path(site.project.state_path).exists()


@pytest.mark.parametrize(
    "changed",
    [
        MAIN_TF.replace("orders = 3", "orders = 5"),
        MAIN_TF.replace("86400000", "1"),
        MAIN_TF.replace('"Read"', '"Write"'),
    ],
)
def test_resume_does_what_was_approved_whatever_is_declared_since(
    site: ProjectHarness, changed: str
) -> None:
    """It is in the journal; what is declared by now is left to the next plan."""
    assert killed(site, "create_topics", after=False)
    site.write(changed)
    resumed(site)
    orders = site.cluster.topics()["orders"]
    assert isinstance(orders, TopicDescription)
    assert len(orders.assignment) == 3
    assert {each.operation for each in site.cluster.acls()} == {"READ"}
    assert site.plan().plan.has_changes
    site.write(MAIN_TF)
    assert not site.plan().plan.has_changes


def test_an_object_of_the_interrupted_apply_that_nobody_declares_any_more_is_not_deleted(
    site: ProjectHarness,
) -> None:
    assert killed(site, "create_topics", after=True)
    site.write(MAIN_TF.replace(", payments = 6", ""))
    resumed(site)
    assert "payments" in site.cluster.topics()
    left = [each for each in site.plan().plan.changes if each.touches_cluster]
    assert [(each.action, each.identity) for each in left] == [(Action.DELETE, "payments")]


def test_resume_takes_the_values_of_the_variables_from_the_journal(site: ProjectHarness) -> None:
    """Nobody has to remember -var and -var-file of the command that was killed."""
    text = MAIN_TF.replace("orders = 3", "orders = var.size") + 'variable "size" {}\n'
    site.write(text)
    given = replace(site.project.inputs, variables=(VariableText("size", "5", "-var"),))
    with_values = replace(site.project, inputs=given)
    site.cluster.run_before("create_topics", lambda: (_ for _ in ()).throw(Killed()))
    hands = ApplyHandlers(lambda _: True, site.watcher)
    with pytest.raises(Killed):
        apply(with_values, PlanOptions(), site.ports, hands)
    resumed(site)
    orders = site.cluster.topics()["orders"]
    assert isinstance(orders, TopicDescription)
    assert len(orders.assignment) == 5


def test_resume_does_not_take_a_default_for_a_secret_that_the_journal_does_not_have(
    site: ProjectHarness,
) -> None:
    """Another password than the approved one would be set."""
    secret = 'variable "password" {\n  default   = "none"\n  sensitive = true\n}\n'
    site.write(MAIN_TF + secret)
    given = replace(site.project.inputs, variables=(VariableText("password", "hush", "-var"),))
    with_secret = replace(site.project, inputs=given)
    site.cluster.run_before("create_topics", lambda: (_ for _ in ()).throw(Killed()))
    hands = ApplyHandlers(lambda _: True, site.watcher)
    with pytest.raises(Killed):
        apply(with_secret, PlanOptions(), site.ports, hands)
    with pytest.raises(KplanError, match="sensitive variables: password"):
        resume_apply(site.project, PlanOptions(), site.ports, hands)
    resume_apply(with_secret, PlanOptions(), site.ports, hands)
    assert "orders" in site.cluster.topics()


@pytest.mark.parametrize("after", [False, True])
def test_the_outcomes_of_a_resumed_apply_count_what_was_done_before(
    site: ProjectHarness, after: bool
) -> None:
    assert killed(site, "create_topics", after=after)
    hands = ApplyHandlers(lambda _: False, site.watcher)
    done = resume_apply(site.project, PlanOptions(), site.ports, hands)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED] * 3
    assert all(each.is_verified for each in done.outcomes)
    assert not any(each.is_pending for each in done.state.owned.values())
    notes = {str(each.change.kind): each.note for each in done.outcomes}
    assert notes["kafka_acl"] == "done before the interruption"
    assert notes["kafka_topic"] == ("done before the interruption" if after else "")


def test_what_was_sent_without_an_answer_and_came_about_is_counted(site: ProjectHarness) -> None:
    """The journal knows that it was sent; the cluster shows that it is there."""

    def strike() -> None:
        site.cluster.connect_as().create_topics([NewTopic("payments", 6, 1, config=DAY)])
        raise Killed

    site.cluster.run_before("create_topics", strike)
    with pytest.raises(Killed):
        site.apply()
    hands = ApplyHandlers(lambda _: False, site.watcher)
    done = resume_apply(site.project, PlanOptions(), site.ports, hands)
    notes = {str(each.change.identity): each.note for each in done.outcomes}
    assert notes["payments"] == "found on the cluster"
    assert notes["orders"] == ""
    assert len(done.outcomes) == 3


def test_what_was_sent_and_not_heard_of_again_is_owned_when_it_is_there(
    site: ProjectHarness,
) -> None:
    """No outcome is lost: a topic that came about is deleted when its block goes."""
    assert killed(site, "create_topics", after=True)
    assert len(list_owned_objects(site.project)) == 0
    site.write(MAIN_TF.replace(", payments = 6", ""))
    site.apply()
    assert set(site.cluster.topics()) == {"orders"}


def test_an_apply_that_is_declined_keeps_the_journal(site: ProjectHarness) -> None:
    assert killed(site, "create_topics", after=False)
    before = journal_path(site.project.state_path).read_bytes()
    site.apply(lambda _: False)
    assert journal_path(site.project.state_path).read_bytes() == before


def test_the_state_is_not_edited_before_an_interrupted_apply_is_finished(
    site: ProjectHarness,
) -> None:
    assert killed(site, "create_topics", after=False)
    with pytest.raises(StateError) as told:
        forget_objects(site.project, ("kafka_acl.read",), site.ports)
    assert told.value.hint == "Finish it first: kplan apply -resume"
    with pytest.raises(StateError):
        move_objects(site.project, "kafka_acl.read", "kafka_acl.other", site.ports)
    with pytest.raises(StateError):
        import_object(site.project, 'kafka_topic.t["orders"]', "orders", site.ports)
    resumed(site)
    assert site.plan().plan.batches == ()
