"""A command in this process on inputs that were edited: what it must never do."""

import hashlib
import io
import json
import os
import signal
import tempfile
import traceback
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from unittest.mock import patch

from kplan.cli import run as command
from kplan.cli import wiring
from kplan.cluster.memory.cluster import MemoryCluster

LIMIT_S = 30
EXIT_CODES = frozenset({0, 1, 2, 3, 4, 5, 6, 7})
Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Case:
    """Files of a folder, and the command line that is run there.

    With `is_connected` a cluster in memory answers; else the settings are read as they are, and
    nothing listens where they lead. `writes` are files and folders that the command may write.
    """

    files: Files
    args: Sequence[str]
    is_connected: bool = True
    writes: frozenset[str] = frozenset()
    environ: Mapping[str, str] = field(default_factory=dict)


def check(case: Case) -> None:
    """Run a case; no traceback, no hang, no exit code of its own, nothing half-written."""
    run_case(case)


def run_case(case: Case) -> tuple[int, str]:
    """Run a case with all checks, and return its exit code and what it said."""
    with tempfile.TemporaryDirectory(prefix="kplan-fuzz-") as name:
        folder = Path(name)
        for path, data in case.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        before = _contents(folder)
        code, told = _run(case, folder)
        after = _contents(folder)
    assert code in EXIT_CODES, f"exit {code}\n{told}"
    assert "Traceback (most recent call last)" not in told, told
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    odd = sorted(path for path in changed if not _may_write(case, path))
    assert not odd, f"{odd} written\n{told}"
    for path in sorted(changed & after.keys()):
        if path.endswith(".json"):
            json.loads(after[path])
    return code, told


def _may_write(case: Case, path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in case.writes)


def _run(case: Case, folder: Path) -> tuple[int, str]:
    crashes: list[str] = []

    def crash(error: Exception) -> str:
        crashes.append("".join(traceback.format_exception(error)))
        return "crashed"

    environ = {"HOME": str(folder), **case.environ}
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    with ExitStack() as stack:
        stack.enter_context(_limited(LIMIT_S))
        stack.enter_context(chdir(folder))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(out))
        stack.enter_context(patch.object(command, "write_crash_report", crash))
        if case.is_connected:
            cluster = MemoryCluster()
            stack.enter_context(patch.object(wiring, "_connect", lambda *_: cluster))
        code = command.run(case.args, environ)
    out.flush()
    told = out.buffer.getvalue().decode("utf-8", "replace")
    assert not crashes, crashes[0]
    return int(code), told


class HangError(BaseException):
    """Nothing catches it: the command took too long."""


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(_: int, frame: FrameType | None) -> None:
        raise HangError("".join(traceback.format_stack(frame)))

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    except HangError as hang:
        raise AssertionError(f"no end after {seconds} s\n{hang}") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _contents(folder: Path) -> dict[str, bytes]:
    found = {}
    for each in folder.rglob("*"):
        if each.is_file() and "lock" not in each.name:
            found[each.relative_to(folder).as_posix()] = each.read_bytes()
    return found


def repair_plan(members: Mapping[str, bytes]) -> bytes:
    """Pack a plan file whose digest is right for what it holds, whatever that is."""
    about = json.loads(members["meta.json"])
    about["plan_sha256"] = hashlib.sha256(members["plan.json"]).hexdigest()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in {**members, "meta.json": json.dumps(about).encode()}.items():
            archive.writestr(name, data)
    return packed.getvalue()


def read_plan_members(data: bytes) -> dict[str, bytes]:
    """Unpack a plan file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def working_folder() -> Files:
    """Apply a configuration in memory, and give all files that it leaves, with a saved plan."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        Path("main.tf").write_text(MAIN)
        cluster = MemoryCluster()
        silent = io.StringIO()
        memory = patch.object(wiring, "_connect", lambda *_: cluster)
        with memory, redirect_stdout(silent), redirect_stderr(silent):
            assert command.run(["apply", "-auto-approve"], {}) == 0, silent.getvalue()
            Path("main.tf").write_text(MAIN.replace("86400000", "3600000"))
            assert command.run(["plan", "-out=p.kplan"], {}) == 0
        found = _contents(Path(name))
    assert os.sep == "/"
    return {path: data for path, data in found.items() if path in _WORKING}


_WORKING = {"main.tf", "p.kplan", "state/kplan.json"}
MAIN = """
variable "names" {
  type    = map(number)
  default = { orders = 3, payments = 6 }
  validation {
    condition     = length(var.names) > 0
    error_message = "Names."
  }
}
locals {
  days = { for name, count in var.names : name => count * 2 if count > 1 }
  text = <<-EOT
    %{ for each in keys(var.names) ~}
    ${upper(each)}
    %{ endfor ~}
  EOT
}
provider "kafka" {
  bootstrap_servers = ["127.0.0.1:9092"]
}
resource "kafka_topic" "t" {
  for_each           = var.names
  name               = each.key
  partitions         = each.value
  replication_factor = 1
  config = {
    "retention.ms"   = "86400000"
    "cleanup.policy" = join(",", ["compact", "delete"])
  }
  lifecycle {
    prevent_destroy = false
    ignore_changes  = [config["segment.ms"]]
  }
}
resource "kafka_acl" "read" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.t["orders"].name
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_user_scram_credential" "app" {
  username            = "app"
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 4096
  password_wo         = "secret"
  password_wo_version = "1"
}
policy "partitions" {
  on = ["create", "alter"]
  deny {
    condition = try(requested.partitions, 0) > 50
    message   = "Too many partitions: ${try(requested.partitions, 0)}."
  }
}
check "names" {
  assert {
    condition     = can(regex("^o", kafka_topic.t["orders"].name))
    error_message = "No."
  }
}
output "days" {
  value = local.days
}
"""
