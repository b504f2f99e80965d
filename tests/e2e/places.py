"""Folders of configuration for the installed command, and a look at what it did to the cluster."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from kplan.cluster.port import Cluster
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.model.errors import Refusal
from tests.e2e.commands import Ran, kplan

CONFIGURATION = """
provider "kafka" {{}}
variable "partitions" {{
  type    = number
  default = 2
}}
resource "kafka_topic" "t" {{
  for_each           = toset(["a", "b"])
  name               = "{prefix}.${{each.key}}"
  partitions         = var.partitions
  replication_factor = 1
  config             = {{ "retention.ms" = "86400000" }}
}}
resource "kafka_acl" "reader" {{
  resource_type       = "Topic"
  resource_name       = kafka_topic.t["a"].name
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
output "names" {{
  value = [for each in kafka_topic.t : each.name]
}}
output "count" {{
  value = length(kafka_topic.t)
}}
"""
"""Two topics and an ACL, whose names begin with {prefix}."""


class Place:
    """A folder of configuration whose objects on the broker have names of their own.

    The configuration is made of `text`; None leaves the one that is there.
    """

    def __init__(
        self, folder: Path, env: Mapping[str, str], text: str | None = CONFIGURATION
    ) -> None:
        self.folder = folder
        self.prefix = folder.name.replace("_", "-")
        self.env = dict(env)
        if text is not None:
            self.write(text.format(prefix=self.prefix))

    def write(self, text: str) -> None:
        """Write the configuration anew."""
        (self.folder / "main.tf").write_text(text, encoding="utf-8")

    def edit(self, old: str, new: str, name: str = "main.tf") -> None:
        """Replace a part of the configuration."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        (self.folder / name).write_text(text.replace(old, new), encoding="utf-8")

    def ran(self, *args: str, code: int = 0) -> Ran:
        """Run kplan, check its exit code, and that nobody but kplan speaks."""
        ran = kplan(self.folder, *args, env=self.env)
        assert ran.code == code, ran
        assert "Traceback" not in ran.err
        assert "%" not in {line[:1] for line in ran.err.splitlines()}  # as librdkafka logs
        return ran

    def run(self, *args: str, code: int = 0) -> str:
        """Run kplan, check its exit code, and give what it wrote to stdout."""
        return self.ran(*args, code=code).out

    def fails(self, *args: str, code: int = 1) -> str:
        """Run kplan, check its exit code, and give what it wrote to stderr, on one line."""
        return " ".join(self.ran(*args, code=code).err.replace("│", " ").split())

    def tidy_up(self) -> None:
        """Destroy what is still owned."""
        state = self.folder / "state" / "kplan.json"
        if state.exists() and '"address"' in state.read_text(encoding="utf-8"):
            self.ran("destroy", "-auto-approve")

    def cluster(self) -> Cluster:
        """Connect as kplan does; the caller closes."""
        settings = resolve_settings(None, self.env, folder=self.folder).settings
        assert settings is not None
        return open_cluster(settings)


def config_of(cluster: Cluster, topic: str, key: str) -> str | None:
    """Give the value of a topic's config key."""
    found = cluster.topic_configs([topic])[topic]
    assert not isinstance(found, Refusal)
    return found[key].value


def until(is_so: Callable[[], bool], within_s: float = 120.0) -> None:
    """Wait for something that brokers do in their own time: minutes where a machine is busy."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
