"""The state in a bucket, as the jobs of a pipeline share it, on a real Kafka."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.sandbox.sandbox import Sandbox
from tests.e2e.commands import start
from tests.e2e.places import CONFIGURATION, Place
from tests.e2e.proxy import CREATE_TOPICS, Proxy
from tests.object_servers import s3_server

pytestmark = pytest.mark.broker

APPLY = ("apply", "-auto-approve", "-broker-validate=false")
STATE = """
state {{
  backend  = "s3"
  bucket   = "states"
  key      = "shop/{prefix}"
  region   = "us-east-1"
  endpoint = "{endpoint}"
}}
"""


@pytest.fixture
def bucket() -> Iterator[str]:
    with s3_server("states") as endpoint:
        yield endpoint


def job(folder: Path, servers: str, bucket: str, prefix: str) -> Place:
    """Give a fresh clone of the repository."""
    folder.mkdir()
    env = {
        "KPLAN_BOOTSTRAP_SERVERS": servers, "KPLAN_TLS_ENABLED": "false", "CI": "true",
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
    }  # fmt: skip
    found = Place(folder, env, text=None)
    found.write((CONFIGURATION + STATE).format(prefix=prefix, endpoint=bucket))
    return found


def test_each_job_finds_what_the_one_before_has_done(
    tmp_path: Path, broker: Sandbox, bucket: str
) -> None:
    """Issue 18, 1.2: no job has a disk of its own, and a revoked right is taken away."""
    prefix = tmp_path.name.replace("_", "-")
    clones = [job(tmp_path / str(n), broker.bootstrap_servers, bucket, prefix) for n in range(4)]
    assert "3 added" in clones[0].run("apply", "-auto-approve")
    assert not (clones[0].folder / "state").exists()
    clones[1].run("plan", "-detailed-exitcode")
    clones[1].run("drift")
    text = (clones[2].folder / "main.tf").read_text()
    right = text[text.index('resource "kafka_acl"') : text.index('output "names"')]
    clones[2].edit(right, "")
    assert "1 destroyed" in clones[2].run("apply", "-auto-approve")
    assert "2 destroyed" in clones[3].run("destroy", "-auto-approve", "-max-deletes=9")
    with closing(clones[0].cluster()) as cluster:
        assert not [name for name in cluster.topics() if name.startswith(prefix)]


def test_a_killed_apply_is_finished_by_another_job(
    tmp_path: Path, proxy: Proxy, bucket: str
) -> None:
    """Its lock is stale after a while, and its journal is in the bucket."""
    prefix = tmp_path.name.replace("_", "-")
    first = job(tmp_path / "first", proxy.servers, bucket, prefix)
    with start(first.folder, *APPLY, env=first.env) as process:
        proxy.before[CREATE_TOPICS] = lambda: process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    proxy.before.clear()
    shutil.rmtree(first.folder)
    second = job(tmp_path / "second", proxy.servers, bucket, prefix)
    second.run("apply", "-resume", "-lock-timeout=90s")
    second.run("plan", "-detailed-exitcode")
    second.run("destroy", "-auto-approve", "-max-deletes=9")
