"""Apply on the command line: resume, and what is said when a run is cut short."""

from pathlib import Path

import pytest

from kplan.apply.pace import Means
from kplan.model.outcome import Outcome
from kplan.model.plan import Plan
from tests.unit.cli.memory_desk import Desk, desk_at, interrupt

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return desk_at(tmp_path, capsys, monkeypatch)


def test_a_signal_ends_an_apply_between_requests_and_tells_the_command_that_goes_on(
    desk: Desk,
) -> None:
    desk.cluster.before("create_acls", interrupt)
    out = desk.types("apply", "-auto-approve", "-var-file=a.tfvars", code=1)
    assert out == ""
    (desk.folder / "a.tfvars").write_text("")
    out = desk.types("apply", "-auto-approve", "-var-file=a.tfvars", code=130)
    assert "Apply incomplete: 1 ok, 0 failed, 0 unknown, 2 not attempted." in out
    assert "To go on: kplan apply -resume -var-file=a.tfvars" in out
    desk.cluster.heal()
    assert "Apply complete! Resources: 2 added" in desk.types("apply", "-resume")
    assert "2 to add" not in desk.types("plan")


def test_a_second_signal_names_the_way_on_too(desk: Desk) -> None:
    desk.cluster.before("create_acls", interrupt)
    desk.cluster.before("create_acls", interrupt)
    err = desk.fails("apply", "-auto-approve", "-state=s.json", code=130)
    assert "Stopped at once." in err
    assert "kplan apply -resume -state=s.json" in err
    desk.cluster.heal()
    assert "To finish it: kplan apply -resume" in desk.fails("plan", "-state=s.json", code=0)
    desk.types("apply", "-resume", "-state=s.json")


def test_there_is_nothing_to_resume_where_nothing_was_interrupted(desk: Desk) -> None:
    assert "there is nothing to resume" in desk.fails("apply", "-resume")


@pytest.mark.parametrize("more", ["p.kplan", "-destroy", "-target=kafka_topic.t"])
def test_resume_goes_with_nothing_that_would_change_what_was_approved(
    desk: Desk, more: str
) -> None:
    assert "-resume does what was approved" in desk.fails("apply", "-resume", more)


def test_values_of_variables_are_not_repeated_in_the_command(desk: Desk) -> None:
    desk.write('variable "password" {\n  default = ""\n}\n', "variables.tf")
    desk.cluster.before("create_acls", interrupt)
    out = desk.types("apply", "-auto-approve", "-var", "password=hunter2", code=130)
    assert "kplan apply -resume -var=password=..." in out


@pytest.mark.parametrize(("given", "wanted"), [((), 2), (("-parallelism=7",), 7)])
def test_as_many_requests_are_under_way_as_were_asked_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], wanted: int
) -> None:
    met: list[int] = []

    def carry_out(_: Plan, means: Means) -> tuple[Outcome, ...]:
        met.append(means.pace.in_flight)
        return ()

    monkeypatch.setattr("kplan.workflow.execution.carry_out", carry_out)
    desk.types("apply", "-auto-approve", *given)
    assert met == [wanted]
