"""Apply on the command line: resume, and what is said when a run is cut short."""

import errno
import os
from pathlib import Path

import pytest

from kplan.apply.limits import ApplyContext
from kplan.cli.run import run
from kplan.model.outcome import Outcome
from kplan.model.plan import Plan
from kplan.state.journal import journal_path
from kplan.state.lock import force_unlock, lock_state_file, lock_status
from kplan.state.lock_holder import current_holder
from tests.unit.cli.memory_command import MemoryCommand, memory_command, send_interrupt

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_a_signal_ends_an_apply_between_requests_and_tells_the_command_that_goes_on(
    desk: MemoryCommand,
) -> None:
    desk.cluster.run_before("create_acls", send_interrupt)
    out = desk.run("apply", "-auto-approve", "-var-file=a.tfvars", code=1)
    assert out == ""
    (desk.folder / "a.tfvars").write_text("")
    out = desk.run("apply", "-auto-approve", "-var-file=a.tfvars", code=130)
    assert "Apply incomplete: 1 ok, 0 failed, 0 unknown, 2 not attempted." in out
    assert "To go on: kplan apply -resume -var-file=a.tfvars" in out
    assert desk.run("state", "list") != ""
    assert "An apply of 3 changes was interrupted" in desk.run_failing("state", "list", code=0)
    desk.cluster.clear_faults()
    assert "Apply complete! Resources: 3 added" in desk.run("apply", "-resume")
    assert "2 to add" not in desk.run("plan")


def test_the_plan_that_resume_shows_says_why_it_is_partial(desk: MemoryCommand) -> None:
    """No -target was given."""
    desk.cluster.run_before("create_acls", send_interrupt)
    desk.run("apply", "-auto-approve", code=130)
    desk.cluster.clear_faults()
    desk.cluster.deny_operation("CREATE", "TOPIC")
    desk.cluster.deny_operation("CREATE", "CLUSTER")
    out = " ".join(desk.run("apply", "-resume", code=1).split())
    assert "This plan cannot be applied" in out
    assert (
        "Note: This plan is partial because it only finishes the interrupted apply. Run kplan plan "
        "to verify that no other changes are pending."
    ) in out
    assert "-target" not in out


def test_what_was_sent_is_told_where_the_journal_cannot_be_written(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        desk.cluster.run_before("create_acls", lambda: full.setattr(os, "fdatasync", fill))
        assert run(["apply", "-auto-approve", "-detailed-exitcode"], {}) == 5
    told = desk.capture.readouterr()
    assert "Apply incomplete: " in told.out
    assert "The journal cannot be written: No space left on device." in told.err
    assert "kplan apply -resume" in told.err
    assert "Apply complete!" in desk.run("apply", "-resume")
    assert "No changes." in desk.run("plan")


def test_a_second_signal_names_the_way_on_too(desk: MemoryCommand) -> None:
    desk.cluster.run_before("create_acls", send_interrupt)
    desk.cluster.run_before("create_acls", send_interrupt)
    err = desk.run_failing("apply", "-auto-approve", "-state=s.json", code=130)
    assert "Stopped. To check the requests in flight" in err
    assert "kplan apply -resume -state=s.json" in err
    desk.cluster.clear_faults()
    assert "To finish it: kplan apply -resume" in desk.run_failing("plan", "-state=s.json", code=0)
    desk.run("apply", "-resume", "-state=s.json")


def test_a_signal_before_the_first_request_leaves_nothing_to_resume(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: send_interrupt())  # of the first line of the plan
        err = desk.run_failing("apply", "-auto-approve", code=130)
    assert err.endswith("Stopped before any change of the plan was sent. Interrupted.")
    assert not desk.cluster.topics()
    assert not journal_path(Path("state/kplan.json")).exists()
    assert "3 to add" in desk.run("plan")


def test_a_signal_during_the_plan_of_an_apply_says_that_nothing_was_sent(
    desk: MemoryCommand,
) -> None:
    desk.cluster.run_before("topics", send_interrupt)
    err = desk.run_failing("apply", "-auto-approve", code=130)
    assert err.endswith("Stopped before any change of the plan was sent. Interrupted.")


def test_a_resume_that_is_stopped_before_its_first_request_can_be_repeated(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.cluster.run_before("create_acls", send_interrupt)
    desk.run("apply", "-auto-approve", code=130)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: send_interrupt())
        err = desk.run_failing("apply", "-resume", code=130)
    assert (
        "An apply of 3 changes was interrupted; known: 1, being looked up: 0, not sent: 2." in err
    )
    assert err.endswith("Stopped before any change of the plan was sent. Interrupted.")
    assert "Apply complete!" in desk.run("apply", "-resume")
    assert "No changes." in desk.run("plan")


def test_the_journal_of_whoever_took_the_lock_is_kept(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Path("state/kplan.json")

    def lose_lock(_: int) -> None:
        holder = lock_status(state).holder
        assert holder is not None
        force_unlock(state, holder.id)
        send_interrupt()

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lose_lock)
        desk.run_failing("apply", "-auto-approve", code=130)
    assert journal_path(state).exists()
    assert "known: 0, being looked up: 1, not sent: 2." in desk.run_failing("plan", code=0)


def test_there_is_nothing_to_resume_where_nothing_was_interrupted(desk: MemoryCommand) -> None:
    assert "there is nothing to resume" in desk.run_failing("apply", "-resume")
    assert "Error: No interrupted apply [KP927]" in desk.run_failing("apply", "-resume")


def test_whether_there_is_something_to_resume_is_known_once_the_lock_is_free(
    desk: MemoryCommand,
) -> None:
    """Another run that holds the lock may be about to write its journal."""
    with lock_state_file(Path("state/kplan.json"), current_holder("plan"), 0, lambda _: None):
        said = desk.run_failing("apply", "-resume", "-lock-timeout=1s")
    assert "[KP921]" in said
    assert "Waited 1 s" in said


@pytest.mark.parametrize("more", ["p.kplan", "-destroy", "-target=kafka_topic.t"])
def test_resume_goes_with_nothing_that_would_change_what_was_approved(
    desk: MemoryCommand, more: str
) -> None:
    assert "-resume finishes an approved plan" in desk.run_failing("apply", "-resume", more)


def test_values_of_variables_are_not_repeated_in_the_command(desk: MemoryCommand) -> None:
    desk.write('variable "password" {\n  default = ""\n}\n', "variables.tf")
    desk.cluster.run_before("create_acls", send_interrupt)
    out = desk.run("apply", "-auto-approve", "-var", "password=hunter2", code=130)
    assert "kplan apply -resume -var=password=..." in out


@pytest.mark.parametrize(("given", "wanted"), [((), 2), (("-parallelism=7",), 7)])
def test_as_many_requests_are_under_way_as_were_asked_for(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], wanted: int
) -> None:
    met: list[int] = []

    def carry_out(_: Plan, means: ApplyContext) -> tuple[Outcome, ...]:
        met.append(means.limits.in_flight)
        return ()

    monkeypatch.setattr("kplan.workflow.apply.apply.apply_plan", carry_out)
    desk.run("apply", "-auto-approve", *given)
    assert met == [wanted]


def test_a_signal_during_the_last_request_says_that_only_the_wait_was_cut(
    desk: MemoryCommand,
) -> None:
    desk.cluster.run_before("create_topics", send_interrupt)
    said = desk.run_failing("apply", "-auto-approve", code=130)
    assert "Interrupted after the last request: all changes were accepted" in said
    assert said.endswith("To wait until the brokers serve them, run: kplan wait")
    desk.cluster.clear_faults()
    assert "No changes." in desk.run("plan")
    desk.run("wait")


def test_a_signal_after_the_last_request_has_stopped_nothing(desk: MemoryCommand) -> None:
    desk.cluster.run_before("create_topics", send_interrupt)
    out = desk.run("apply", "-auto-approve", "-no-wait", code=0)
    assert "Apply complete! Resources: 3 added" in out
    desk.cluster.clear_faults()
    assert "No changes." in desk.run("plan")
