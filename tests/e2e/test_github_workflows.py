"""The workflows of GitHub that are shown, step by step, on a real broker and a forge of our own."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration, TopicRef
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.actors import password
from tests.e2e.places import CONFIGURATION, Place
from tests.github_server import TOKEN, GitHubServer, serve_github
from tests.job_runner import ROOT, Job

pytestmark = pytest.mark.broker
STATE = """
state {{
  backend = "kafka"
  topic   = "__kplan_e2e_{prefix}"
}}
"""
Doing = Callable[..., Job]


@pytest.fixture
def forge() -> Iterator[GitHubServer]:
    with serve_github() as found:
        yield found


@pytest.fixture
def checkout(tmp_path: Path, sasl_broker: Sandbox) -> Iterator[Place]:
    """Give a repository whose configuration lies in kafka/ and whose state is on the cluster."""
    folder = tmp_path / "repository" / "kafka"
    folder.mkdir(parents=True)
    secrets = {
        "KPLAN_BOOTSTRAP_SERVERS": sasl_broker.bootstrap_servers,
        "KPLAN_TLS_ENABLED": "false",
        "KPLAN_SASL_USERNAME": "admin",
        "KPLAN_SASL_PASSWORD": password(sasl_broker, "admin"),
    }
    found = Place(folder, secrets, None)
    found.prefix = tmp_path.name.replace("_", "-")
    text = CONFIGURATION + STATE
    found.write(text.format(prefix=found.prefix))
    yield found
    found.run("destroy", "-auto-approve")
    with closing(found.cluster()) as cluster:
        cluster.delete_topics([TopicRef(f"__kplan_e2e_{found.prefix}")])


def retain(place: Place, time_ms: str) -> None:
    """Change a topic behind the back of kplan."""
    with closing(place.cluster()) as cluster:
        cluster.alter_topic_configs(
            [ConfigAlteration(f"{place.prefix}.a", {"retention.ms": time_ms})]
        )


@pytest.fixture
def job(checkout: Place, forge: GitHubServer, tmp_path: Path) -> Doing:
    """Give what runs a workflow by its name, each time on a fresh runner.

    The branch that requests are for is what the repository was at first.
    """
    branch = tmp_path / "branch"
    shutil.copytree(checkout.folder.parent, branch)

    def doing(name: str, code: int = 0) -> Job:
        folder = tmp_path / f"runner-{len(list(tmp_path.glob('runner-*')))}"
        base = {"sha": "base"}
        event = {"pull_request": {"number": 7, "base": base}} if name == "plan" else None
        found = Job(folder, checkout.folder.parent, forge.url, checkout.env, event, branch)
        assert found.run(ROOT / "examples" / "ci" / "github" / f"{name}.yml") == code, found.steps
        return found

    return doing


def test_a_change_goes_from_a_pull_request_to_the_cluster_and_its_drift_to_an_issue(
    checkout: Place, forge: GitHubServer, job: Doing
) -> None:
    reviewed(checkout, forge, job)
    merged(checkout, job)
    watched(checkout, forge, job)


def reviewed(checkout: Place, forge: GitHubServer, job: Doing) -> None:
    """Plan a mistake, then a change, then another: one comment, that of the last."""
    checkout.edit("default = 2", "default = 0")
    mistaken = job("plan", code=1)
    assert "::error" in mistaken.steps[0].out
    assert (mistaken.artifacts, len(mistaken.steps)) == ([], 1)
    checkout.edit("default = 0", "default = 2")
    opened = job("plan")
    assert opened.artifacts[0].read_text("utf-8").startswith("<!doctype html>")
    assert "3 to add" in opened.summary
    assert opened.steps[-1].outputs["to_add"] == "3"
    checkout.edit("default = 2", "default = 3")
    pushed = job("plan")
    (comment,) = forge.comments
    assert pushed.steps[-1].outputs["checksum"] in comment["body"]
    assert opened.steps[-1].outputs["checksum"] not in comment["body"]


def merged(checkout: Place, job: Doing) -> None:
    """Apply what was reviewed, once, and nothing else."""
    checkout.edit("default = 3", "default = 4")
    assert job("apply", code=6).steps[-1].outputs["failure_reason"] == "plan-changed"
    checkout.edit("default = 4", "default = 3")
    assert "Apply complete" in job("apply").steps[-1].out
    assert "No changes." in job("apply").steps[-1].out


def watched(checkout: Place, forge: GitHubServer, job: Doing) -> None:
    """Open an issue at the first look at a drift, keep it at the second, close it after."""
    job("drift")
    assert forge.issues == []
    retain(checkout, "1000")
    job("drift")
    job("drift")
    (issue,) = forge.issues
    assert (issue["state"], issue["title"]) == ("open", "Drift of kplan")
    assert "retention.ms" in issue["body"]
    retain(checkout, "86400000")
    job("drift")
    assert issue["state"] == "closed"


@pytest.fixture(scope="module")
def secured_broker(sandbox_of: StartSandbox) -> Sandbox:
    """Start one node with SASL inside TLS and an authorizer; `admin` and `ci` are super users."""
    package = "org.apache.kafka.common.security"
    users = 'username="admin" password="secret" user_admin="secret"'
    client = "listener.name.client"
    return sandbox_of(
        SandboxSpec(
            security=Security.TLS,
            server_properties={
                "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SSL",
                f"{client}.ssl.client.auth": "none",
                f"{client}.plain.sasl.jaas.config": (
                    f"{package}.plain.PlainLoginModule required {users};"
                ),
                f"{client}.scram-sha-512.sasl.jaas.config": (
                    f"{package}.scram.ScramLoginModule required;"
                ),
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "super.users": "User:admin;User:ci;User:CN=broker,OU=throw-away,O=kplan sandbox",
            },
        )
    )


@pytest.fixture
def team(tmp_path: Path, secured_broker: Sandbox) -> Iterator[Place]:
    """Give a repository that `kplan init` has begun, on a cluster with TLS and passwords."""
    folder = tmp_path / f"team-{tmp_path.name.rpartition('-')[2]}"
    folder.mkdir()
    secrets = {
        "KPLAN_BOOTSTRAP_SERVERS": secured_broker.bootstrap_servers,
        "KPLAN_TLS_ENABLED": "true",
        "KPLAN_TLS_CA_CERT": Path(secured_broker.properties["ssl.truststore.location"]).read_text(),
        "KPLAN_SASL_USERNAME": "admin",
        "KPLAN_SASL_PASSWORD": "secret",
        "KPLAN_SASL_MECHANISM": "PLAIN",
    }
    found = Place(folder, secrets, None)
    with closing(found.cluster()) as cluster:
        user = ScramUser("ci", "SCRAM-SHA-512")
        assert set(cluster.alter_scram_users([ScramAlteration(user, 4096, "first")]).values()) == {
            None
        }
    login_as_ci(found, "first")
    found.run("init")
    found.edit("default     = 3", "default     = 1", "kplan.hcl")
    yield found
    found.env = secrets
    found.run("destroy", "-auto-approve", "-max-deletes=9", "-var=ci_password=any")
    with closing(found.cluster()) as cluster:
        cluster.delete_topics([TopicRef("__kplan_state")])


def login_as_ci(place: Place, secret: str) -> None:
    """Let all jobs from now on log in with a password, as a changed secret of a repository does."""
    place.env |= {
        "KPLAN_SASL_USERNAME": "ci",
        "KPLAN_SASL_PASSWORD": secret,
        "KPLAN_SASL_MECHANISM": "SCRAM-SHA-512",
    }


def test_the_way_of_a_team_from_init_to_a_revoked_right_and_a_hostile_request(
    team: Place, forge: GitHubServer, tmp_path: Path
) -> None:
    """Issue 18: each job in a fresh clone; a state in a file was lost, and the right stayed."""
    branch = tmp_path / "branch"
    runs = 0

    def merge() -> None:
        shutil.rmtree(branch, ignore_errors=True)
        shutil.copytree(team.folder, branch)

    def job(name: str, code: int = 0) -> Job:
        nonlocal runs
        runs += 1
        event = {"pull_request": {"number": 7, "base": {"sha": "base"}}} if name == "plan" else None
        found = Job(tmp_path / f"run-{runs}", team.folder, forge.url, team.env, event, branch)
        assert found.run(team.folder / ".github" / "workflows" / f"kplan-{name}.yml") == code, (
            found.steps
        )
        return found

    merge()
    assert "2 to add" in job("plan").summary
    assert "There is no state" in job("drift", code=1).steps[-1].out
    assert "2 added" in job("apply").steps[-1].out
    assert "No drift." in job("drift").steps[-1].out
    text = (team.folder / "kplan.hcl").read_text()
    right = text[text.index('resource "kafka_acl"') : text.index("# One block declares")]
    team.edit(right, "", "kplan.hcl")
    assert "1 to destroy" in job("plan").summary
    assert "1 destroyed" in job("apply").steps[-1].out
    with closing(team.cluster()) as cluster:
        assert not [each for each in cluster.acls() if each.principal == "User:checkout"]
    merge()
    rotated(team, job, merge)
    moved(team, job, merge)
    hostile(team, forge, job)


def rotated(team: Place, job: Doing, merge: Callable[[], None]) -> None:
    """Give the principal of the jobs another password through the pipeline itself."""
    (team.folder / "users.tf").write_text(
        """
variable "ci_password" {
  type      = string
  sensitive = true
}
resource "kafka_user_scram_credential" "ci" {
  username            = "ci"
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 4096
  password_wo         = var.ci_password
  password_wo_version = "2"
}
"""
    )
    team.env["TF_VAR_ci_password"] = "second"
    assert "to change" in job("plan").summary
    applied = job("apply").steps[-1].out
    assert "second" not in applied
    assert "refused" in job("drift", code=7).steps[-1].out, "the old password is of no use"
    login_as_ci(team, "second")
    assert "No drift." in job("drift").steps[-1].out
    merge()


def moved(team: Place, job: Doing, merge: Callable[[], None]) -> None:
    """Keep the state under another key: the jobs of before are told, the new ones go on."""
    kept = (team.folder / "kplan.hcl").read_text()
    team.run("state", "migrate", "-to=file")
    team.edit('key     = "', 'key     = "moved-', "kplan.hcl")
    team.run("state", "migrate", "-to=kafka")
    shutil.rmtree(team.folder / "state")
    assert "No drift." in job("drift").steps[-1].out
    assert "moved" in job("plan", code=1).steps[-1].out, "the branch names the old place yet"
    new = (team.folder / "kplan.hcl").read_text()
    (team.folder / "kplan.hcl").write_text(kept)
    assert "moved" in job("drift", code=1).steps[-1].out
    (team.folder / "kplan.hcl").write_text(new)
    merge()
    assert "No changes." in job("plan").summary


def hostile(team: Place, forge: GitHubServer, job: Doing) -> None:
    """Try what a request's author may write; nothing is read, sent or run."""
    secret = team.env["KPLAN_SASL_PASSWORD"]
    evil = team.folder / "evil.tf"
    for text, why in (
        ('output "x" {\n  value = filebase64("/proc/self/environ")\n}\n', "is of the system"),
        ('output "x" {\n  value = file("../../event.json")\n}\n', "outside of the repository"),
        ('provider "kafka" {\n  alias = "e"\n  bootstrap_servers = ["127.0.0.1:1"]\n}\n',
         "is not in the trusted configuration"),
    ):  # fmt: skip
        evil.write_text(text)
        told = " ".join(job("plan", code=1).steps[0].out.replace("│", " ").split())
        assert why in told
        assert secret not in told
    evil.unlink()
    (team.folder / "evil.py").write_text("open('ran', 'w').write('x')\n")
    evil.write_text('policies {\n  paths = ["evil.py"]\n}\n')
    done = job("plan")
    assert not list(done.folder.rglob("ran"))
    (team.folder / "evil.py").unlink()
    evil.unlink()
    (team.folder / "state").symlink_to(team.folder.parent / "elsewhere")
    assert "links to files outside" in job("plan", code=1).steps[0].out
    (team.folder / "state").unlink()
    whole = str(forge.comments)
    assert secret not in whole
    assert TOKEN not in whole
