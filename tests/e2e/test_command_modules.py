"""A team's folder whose modules come from a git server, on a real Kafka."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e.places import Place

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]
MODULE = """
variable "name" { type = string }
resource "kafka_topic" "this" {
  name               = var.name
  partitions         = 2
  replication_factor = 1
}
resource "kafka_acl" "read" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.this.name
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
CALL = """
provider "kafka" {{}}
module "topics" {{
  source   = "git::{address}/modules.git//topic?ref=v1.0.0"
  for_each = toset(["orders", "payments"])
  name     = "{prefix}.${{each.key}}"
}}
"""


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
        """Say nothing."""


@pytest.fixture
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a repository with the tag v1.0.0 over HTTP."""
    served, work = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("work")
    (work / "topic").mkdir()
    (work / "topic/main.tf").write_text(MODULE, encoding="utf-8")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    for args in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("commit", "--quiet", "--message=x"),
        ("tag", "v1.0.0"),
        ("clone", "--quiet", "--bare", ".", str(served / "modules.git")),
        ("-C", str(served / "modules.git"), "update-server-info"),
    ):
        subprocess.run(["git", *who, *args], cwd=work, check=True)
    handler = partial(_QuietHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_team_folder_with_git_modules_is_initialised_applied_and_planned_empty(
    place: Place, git_server: str
) -> None:
    text = CALL.format(address=git_server, prefix=place.prefix)
    place.write(text)
    assert "KP500" in place.fails("plan")
    told = place.run("init")
    assert "Resources: 4\n" in told
    assert (place.folder / "kplan.lock.json").is_file()
    told = place.run("apply", "-auto-approve")
    assert "Apply complete! Resources: 4 added, 0 changed, 0 destroyed." in told
    assert "No changes." in place.run("plan", "-detailed-exitcode")
    shutil.rmtree(place.folder / ".kplan")
    place.run("get", "-lockfile=readonly")
    assert "No changes." in place.run("plan", "-detailed-exitcode")
