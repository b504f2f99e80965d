"""Passwords of users: on the way from the configuration to the cluster, and nowhere else."""

import zipfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.config.inputs import Inputs, VariableText
from kplan.model.errors import KplanError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import StaleAction, apply_saved
from kplan.workflow.plan.drift import detect_drift
from kplan.workflow.plan.plan import make_plan, save_plan
from kplan.workflow.ports import PlanOptions, Project
from tests.project_harness import Killed, ProjectHarness

ALICE = ScramUser("alice", "SCRAM-SHA-256")
BOB = ScramUser("bob", "SCRAM-SHA-512")
USERS = """
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_user_scram_credential" "alice" {{
  username        = "alice"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "{alice}"
}}
resource "kafka_user_scram_credential" "bob" {{
  username            = "bob"
  scram_mechanism     = "SCRAM-SHA-512"
  password_wo         = "{bob}"
  password_wo_version = "{version}"
}}
"""


def users(alice: str = "hunter-1", bob: str = "hunter-2", version: str = "1") -> str:
    return USERS.format(alice=alice, bob=bob, version=version)


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(users())
    return found


def actions(site: ProjectHarness) -> dict[str, Action]:
    return {each.address.name: each.action for each in site.plan().plan.changes}


def test_no_file_and_no_report_holds_a_password(site: ProjectHarness) -> None:
    """Design law 11."""
    made = site.plan().plan
    shown = [views.plan_text(made, PLAIN_STYLE), views.plan_json(made), repr(made)]
    site.apply()
    shown += [each.read_text() for each in (site.folder / "state").iterdir() if each.is_file()]
    assert (site.cluster.stored_password(ALICE), site.cluster.stored_password(BOB)) == (
        "hunter-1",
        "hunter-2",
    )
    assert not [text for text in shown if "hunter" in text]


def test_a_password_is_set_anew_when_it_or_its_version_changes(site: ProjectHarness) -> None:
    site.apply()
    assert set(actions(site).values()) == {Action.NO_OP}
    site.write(users(alice="hunter-3", bob="hunter-4"))
    assert actions(site) == {"alice": Action.UPDATE, "bob": Action.NO_OP}
    site.apply()
    site.write(users(alice="hunter-3", bob="hunter-4", version="2"))
    assert actions(site) == {"alice": Action.NO_OP, "bob": Action.UPDATE}
    site.apply()
    assert (site.cluster.stored_password(ALICE), site.cluster.stored_password(BOB)) == (
        "hunter-3",
        "hunter-4",
    )
    assert set(actions(site).values()) == {Action.NO_OP}


def test_what_can_be_seen_of_a_credential_drifts(site: ProjectHarness) -> None:
    site.apply()
    site.cluster.seed_settings(users=[ScramAlteration(ALICE, 8192, "theirs")])
    (seen,) = detect_drift(site.project, site.ports).changes
    assert [each.path for each in seen.attributes] == [("scram_iterations",)]
    assert actions(site) == {"alice": Action.UPDATE, "bob": Action.NO_OP}
    site.apply()
    assert site.cluster.stored_password(ALICE) == "hunter-1"


def test_a_saved_plan_takes_the_passwords_from_the_configuration(
    site: ProjectHarness, tmp_path: Path
) -> None:
    path = tmp_path / "users.kplan"
    save_plan(site.plan(), path, site.ports.now(), ttl=timedelta(hours=1))
    assert b"hunter" not in path.read_bytes()
    hands = ApplyHandlers(lambda _: True, site.watcher)
    done = apply_saved(site.project, path, PlanOptions(), (site.ports, hands))
    assert {each.status for each in done.outcomes} == {OutcomeStatus.APPLIED}
    assert (site.cluster.stored_password(ALICE), site.cluster.stored_password(BOB)) == (
        "hunter-1",
        "hunter-2",
    )
    assert set(actions(site).values()) == {Action.NO_OP}


@pytest.mark.parametrize("is_killed", [False, True])
def test_another_secret_than_the_planned_one_stops_an_apply_before_its_first_request(
    site: ProjectHarness, tmp_path: Path, is_killed: bool
) -> None:
    """Each of its items would be refused, all others sent, and plan or journal be used up."""
    topic = 'resource "kafka_topic" "a" { name = "a" }\n'
    text = users(alice="${var.word}") + topic + 'variable "word" { sensitive = true }\n'
    site.write(text)
    right, wrong = (
        replace(site.project, inputs=Inputs((VariableText("word", each, "-var"),)))
        for each in ("hunter-1", "hunter-9")
    )
    path = tmp_path / "users.kplan"
    save_plan(make_plan(right, PlanOptions(), site.ports), path, site.ports.now())
    hands = ApplyHandlers(lambda _: True, site.watcher)
    finish = partial(apply_saved, path=path, options=PlanOptions(), outside=(site.ports, hands))
    if is_killed:
        site.cluster.run_before("alter_scram_users", lambda: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            finish(right)
        finish = partial(resume_apply, options=PlanOptions(), ports=site.ports, handlers=hands)
    with pytest.raises(KplanError, match=r"other secrets for: kafka_user_scram_credential\.alice"):
        finish(wrong)
    assert not site.cluster.topics()
    assert not site.cluster.scram_users()
    assert {each.status for each in finish(right).outcomes} == {OutcomeStatus.APPLIED}
    assert site.cluster.stored_password(ALICE) == "hunter-1"


def test_a_user_of_somebody_else_is_adopted_with_the_declared_password(
    site: ProjectHarness,
) -> None:
    site.cluster.seed_settings(users=[ScramAlteration(ALICE, 4096, "theirs")])
    assert actions(site)["alice"] is Action.UPDATE
    site.apply()
    assert site.cluster.stored_password(ALICE) == "hunter-1"


def test_an_output_of_a_password_must_be_sensitive(site: ProjectHarness) -> None:
    from kplan.model.errors import ConfigError

    site.write(users() + 'output "p" { value = kafka_user_scram_credential.alice.password }\n')
    with pytest.raises(ConfigError) as told:
        site.plan()
    assert "hunter" not in str(told.value.diagnostics)


def test_a_password_from_an_ephemeral_variable_reaches_the_cluster_and_no_file(
    site: ProjectHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = 'variable "pw" {\n  type      = string\n  ephemeral = true\n}\n'
    site.write(users().replace('"hunter-2"', "var.pw") + variable)
    given = Inputs(environ={"TF_VAR_pw": "hunter-9"})
    monkeypatch.setattr(
        ProjectHarness,
        "project",
        property(lambda found: Project(found.folder, found.folder / "state" / "s.json", given)),
    )
    made = site.plan()
    plan_file = site.folder / "state" / "release.kplan"
    plan_file.parent.mkdir()
    save_plan(made, plan_file, site.ports.now(), ttl=timedelta(hours=1))
    apply_saved(
        site.project,
        plan_file,
        PlanOptions(),
        (site.ports, ApplyHandlers(lambda _: True, site.watcher)),
    )
    assert site.cluster.stored_password(BOB) == "hunter-9"
    # A zip is deflated, so that its own members are looked at.
    with zipfile.ZipFile(plan_file) as archive:
        assert not [name for name in archive.namelist() if b"hunter-9" in archive.read(name)]
    files = [each for each in (site.folder / "state").rglob("*") if each.is_file()]
    assert not [each for each in files if b"hunter-9" in each.read_bytes()]
    assert set(actions(site).values()) == {Action.NO_OP}


TOPIC = 'resource "kafka_topic" "a" {\n  name = "a"\n}\n'
WORD = 'variable "word" {\n  sensitive = true\n}\n'


def save(project: Project, site: ProjectHarness) -> Path:
    path = site.folder / "p.kplan"
    path.unlink(missing_ok=True)
    save_plan(make_plan(project, PlanOptions(), site.ports), path, site.ports.now())
    return path


@pytest.mark.parametrize(
    "block",
    [
        """
resource "kafka_broker_config" "b" {{
  broker_id        = 1
  config           = {{ "log.cleaner.threads" = "{value}" }}
  sensitive_config = {{ "listener.name.a.ssl.key.password" = "hunter-3" }}
}}
""",
        """
resource "kafka_connector" "c" {{
  name             = "c"
  config           = {{ "connector.class" = "FileStreamSource", "file" = "{value}", "topic" = "t" }}
  config_sensitive = {{ "x" = "hunter-3" }}
}}
""",
        """
resource "kafka_connector" "c" {{
  name             = "c"
  config           = {{ "connector.class" = "FileStreamSource", "file" = "{value}", "topic" = "t" }}
  config_sensitive = {{ "x" = "hunter-{value}" }}
  lifecycle {{
    ignore_changes = [config_sensitive["x"]]
  }}
}}
""",
    ],
    ids=["broker config", "connector", "connector with a secret that is ignored"],
)
def test_an_object_with_secrets_is_updated_by_a_saved_plan(
    site: ProjectHarness, block: str
) -> None:
    """The file has no secrets of the object that it was planned for, and the cluster shows some."""
    hands = ApplyHandlers(lambda _: True, site.watcher)
    for value in "23":
        site.write(block.format(value=value))
        done = apply_saved(
            site.project, save(site.project, site), PlanOptions(), (site.ports, hands)
        )
        assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED]


def test_a_plan_that_is_made_anew_keeps_to_the_secrets_of_the_one_that_was_approved(
    site: ProjectHarness,
) -> None:
    given = (Inputs((VariableText("word", each, "-var"),)) for each in ("hunter-1", "hunter-9"))
    right, wrong = (replace(site.project, inputs=each) for each in given)
    hands = ApplyHandlers(lambda _: False, site.watcher)
    site.write(users(alice="${var.word}") + WORD)
    path = save(right, site).rename(site.folder / "approved.kplan")
    site.write(TOPIC + WORD)
    apply_saved(right, save(right, site), PlanOptions(), (site.ports, hands))
    site.write(users(alice="${var.word}") + WORD + TOPIC)
    with pytest.raises(KplanError, match=r"other secrets for: kafka_user_scram_credential\.alice"):
        apply_saved(wrong, path, PlanOptions(), (site.ports, hands), StaleAction.REPLAN)
    assert not site.cluster.scram_users()


@pytest.mark.parametrize(("left", "is_set"), [(users() + TOPIC, True), (TOPIC, False)])
def test_resume_sends_what_else_was_approved_if_the_block_of_a_secret_is_another(
    site: ProjectHarness, left: str, *, is_set: bool
) -> None:
    more = '  scram_iterations = 8192\n  password        = "hunter-1"'
    site.write(users().replace('  password        = "hunter-1"', more) + TOPIC)
    hands = ApplyHandlers(lambda _: True, site.watcher)
    path = save(site.project, site)

    def die() -> None:
        raise Killed

    site.cluster.run_before("alter_scram_users", die)
    with pytest.raises(Killed):
        apply_saved(site.project, path, PlanOptions(), (site.ports, hands))
    site.write(left)
    done = resume_apply(site.project, PlanOptions(), site.ports, hands)
    found = {each.change.address.name: each.status for each in done.outcomes}
    assert found["a"] is OutcomeStatus.APPLIED
    assert found["alice"] is (OutcomeStatus.APPLIED if is_set else OutcomeStatus.FAILED)
