"""The workflows of GitHub that are shown, step by step, on a real broker and a forge of our own."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration, TopicRef
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.actors import password
from tests.e2e.places import CONFIGURATION, Place
from tests.github_server import GitHubServer, serve_github
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
    text = CONFIGURATION.replace("{{}}", "{{ tls_enabled = false }}", 1) + STATE
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
    """Give what runs a workflow by its name, each time on a fresh runner."""

    def doing(name: str, code: int = 0) -> Job:
        folder = tmp_path / f"runner-{len(list(tmp_path.glob('runner-*')))}"
        event = {"pull_request": {"number": 7}} if name == "plan" else None
        found = Job(folder, checkout.folder.parent, forge.url, checkout.env, event)
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
