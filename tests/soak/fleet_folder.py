"""The folder of a fleet of real clusters, on days that pass quickly."""

import csv
import gzip
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from kplan.sandbox.sandbox import Sandbox, read_sandbox
from tests.e2e.actors import Actor
from tests.e2e.commands import Ran, start

LONGEST_RUN_S = 900
MOVED = """
import datetime, os, sys
from importlib import abc, util
shift = datetime.timedelta(seconds=float(os.environ["CLOCK_SHIFT_S"]))
class moved(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + shift
class Mover(abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in ("kplan.cli.fleet.command", "kplan.cli.wiring"):
            return None
        sys.meta_path.remove(self)
        spec = util.find_spec(name)
        sys.meta_path.insert(0, self)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            module.datetime = moved
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Mover())
"""
"""A `sitecustomize` that moves the clock of kplan alone: pandas, whose C types derive from the real
datetime, hangs in the garbage collector where that is replaced for all."""
CLUSTERS: Mapping[str, Sequence[str]] = {
    "eu": ("-brokers=2", "-controllers=0"),
    "us": (),
    "lab": (),
}
TIME = re.compile(r"(?<=^\[)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
FLEET = """
cluster "{name}" {{
  labels        = {{ team = "{name}" }}
  configuration = "{name}"
  audit         = ["logs/{name}/*"]
  super_users   = ["User:admin", "User:broker"]
  provider "kafka" {{ properties_file = "sandboxes/{name}/admin.properties" }}
}}
"""
RULES = """
store { path = "tables" }
costs {
  per_gib_month        = 0.10
  per_partition_month  = 0.03
  per_million_requests = 0.20
}
trends {
  min_days = 5
  cluster "eu" { max_partitions = 40 }
}
anomalies {
  watch_days  = 1
  min_days    = 3
  min_denials = 5
}
"""
TOPICS = """
provider "kafka" {{ properties_file = "../sandboxes/{name}/admin.properties" }}
resource "kafka_topic" "all" {{
  for_each           = toset(["orders", "payments", "idle"])
  name               = "{name}.${{each.key}}"
  partitions         = 2
  replication_factor = 1
  config             = {{ "retention.ms" = "604800000" }}
}}
"""
ACL = """
resource "kafka_acl" "{label}" {{
  resource_type                = "{sort}"
  resource_name                = "{resource}"
  resource_pattern_type_filter = "{pattern}"
  acl_principal                = "User:{user}"
  acl_host                     = "*"
  acl_operation                = "{operation}"
  acl_permission_type          = "Allow"
}}
"""
EXACT = (
    ("bob_writes", "Topic", "{name}.orders", "Literal", "bob", "Write"),
    ("ci_reads", "Topic", "{name}.orders", "Literal", "ci", "Read"),
    ("ci_group", "Group", "{name}.ci", "Literal", "ci", "Read"),
)
"""ACLs that are used as they are."""
WIDE = (
    ("alice_topics", "Topic", "{name}.", "Prefixed", "alice", "All"),
    ("alice_groups", "Group", "{name}.", "Prefixed", "alice", "Read"),
    ("ci_idle", "Topic", "{name}.idle", "Literal", "ci", "Write"),
)
"""ACLs that are wider than their use, or not used at all."""


def acls(name: str, given: Sequence[tuple[str, str, str, str, str, str]]) -> str:
    """Write ACLs of a cluster as HCL."""
    keys = ("label", "sort", "resource", "pattern", "user", "operation")
    told = (dict(zip(keys, each, strict=True)) for each in given)
    return "".join(
        ACL.format(**{**each, "resource": each["resource"].format(name=name)}) for each in told
    )


@dataclass
class Fleet:
    """A folder with `fleet.hcl`, and the day that it is there."""

    folder: Path
    spark: str = ""
    days: int = 10
    day: int = 0
    collected: int = 0
    _read: dict[Path, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the fleet file, configurations, and the `sitecustomize` that moves the clock."""
        shim = self.folder / "shim"
        shim.mkdir(parents=True)
        (shim / "sitecustomize.py").write_text(MOVED)
        texts = [FLEET.format(name=each) for each in CLUSTERS]
        (self.folder / "fleet.hcl").write_text("".join(texts) + RULES)
        for name in CLUSTERS:
            (self.folder / name).mkdir()
            (self.folder / "logs" / name).mkdir(parents=True)
            (self.folder / name / "main.tf").write_text(TOPICS.format(name=name))
            (self.folder / name / "exact.tf").write_text(acls(name, EXACT))
            (self.folder / name / "wide.tf").write_text(acls(name, WIDE))

    @property
    def shift(self) -> timedelta:
        """How far the clock is moved: the last day is today."""
        return timedelta(days=self.day - self.days + 1)

    def kplan(self, line: str, folder: str = "", code: int = 0) -> Ran:
        """Run kplan on that day, and check its exit code."""
        path = os.pathsep.join((str(self.folder / "shim"), str(Path(__file__).parents[2])))
        env = {"PYTHONPATH": path, "CLOCK_SHIFT_S": str(self.shift.total_seconds())}
        env["SPARK_REMOTE"] = self.spark
        env["PYTHONDONTWRITEBYTECODE"] = ""  # else each command compiles pandas anew
        where = f"cd {folder} && " if folder else ""
        print(f"day {self.day}$ {where}kplan {line}", flush=True)
        process = start(self.folder / folder, *line.split(), env=env)
        out, err = process.communicate(timeout=LONGEST_RUN_S)
        ran = Ran(process.returncode, out, err)
        assert ran.code == code, f"exit code {ran.code}, not {code}\n{ran.out}\n{ran.err}"
        assert "Traceback" not in ran.err, ran.err
        return ran

    def table(self, line: str, name: str, code: int = 0) -> list[dict[str, str]]:
        """Run a command of the fleet and read one of its tables."""
        place = self.folder / "out.csv"
        for each in self.folder.glob("out*.csv"):
            shutil.rmtree(each)
        self.kplan(f"{line} -output={place.name}", code=code)
        return self.last_table(name)

    def last_table(self, name: str) -> list[dict[str, str]]:
        """Read another table of the same answer."""
        given = self.folder / (f"out.{name}.csv" if name else "out.csv")
        found: list[dict[str, str]] = []
        for part in sorted(given.glob("part-*")):
            with part.open(encoding="utf-8", newline="") as file:
                found.extend(csv.DictReader(file))
        return found

    def sandbox(self, name: str) -> Sandbox:
        """Return a cluster that runs."""
        found = read_sandbox(self.folder / "sandboxes" / name)
        assert found is not None
        return found

    def actor(self, name: str, user: str) -> Actor:
        """Return a user of a cluster."""
        return Actor(self.sandbox(name), user)

    def collect(self) -> None:
        """Copy what brokers logged since the last time, with the times of that day."""
        for name in CLUSTERS:
            for log in sorted((self.folder / "sandboxes" / name).glob("node-*/authorizer.log")):
                with log.open("rb") as file:
                    file.seek(self._read.get(log, 0))
                    text = file.read().decode()
                text = text[: text.rfind("\n") + 1]  # the last line may be in the making
                self._read[log] = self._read.get(log, 0) + len(text.encode())
                lines = [TIME.sub(self._moved, each) for each in text.splitlines(keepends=True)]
                self.collected += sum(" Principal = " in f" {each}" for each in lines)
                target = self.folder / "logs" / name / f"{log.parent.name}.log"
                with target.open("a", encoding="utf-8") as file_of_day:
                    file_of_day.writelines(lines)

    def _moved(self, found: re.Match[str]) -> str:
        return str(datetime.fromisoformat(found[0]) + self.shift)

    def rotate(self) -> None:
        """Rename the logs, and pack those that were renamed before."""
        for old in (self.folder / "logs").glob("*/*.log.?"):
            packed = old.with_name(f"{old.name}.gz")
            packed.write_bytes(gzip.compress(old.read_bytes()))
            old.unlink()
        for log in (self.folder / "logs").glob("*/*.log"):
            log.rename(log.with_name(f"{log.name}.{self.day}"))
