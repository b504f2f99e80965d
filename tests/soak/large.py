"""Many thousands of objects, and few mutations a second for them."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kplan.cluster.settings import QuotaAlteration, QuotaEntity
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.state.file import read_state
from tests.bench.sizes import Size, write_configuration
from tests.e2e.commands import KPLAN, environ

MANY = Size(6_000, 12_000)
SLOW = Size(600, 0)
SLOW_RATE = 50.0
KEY = "controller_mutation_rate"


@contextmanager
def mutation_quota(servers: str, rate: float) -> Iterator[None]:
    """Let whoever has no name change `rate` partitions a second (KIP-599), and all again then."""
    environment = {"KPLAN_BOOTSTRAP_SERVERS": servers, "KPLAN_TLS_ENABLED": "false"}
    settings = resolve_settings(None, environment, folder=Path()).settings
    assert settings is not None
    who = QuotaEntity(user="ANONYMOUS")
    with closing(open_cluster(settings)) as cluster:
        assert set(cluster.alter_quotas([QuotaAlteration(who, {KEY: rate})]).values()) == {None}
        time.sleep(1)  # the controller answers before its quota manager has the new rate
        try:
            yield
        finally:
            cluster.alter_quotas([QuotaAlteration(who, {}, (KEY,))])


def came_through(size: Size, folder: Path, servers: str) -> str:
    """Apply, plan and destroy; say what went wrong, "" for nothing. Prints the seconds of each."""
    write_configuration(size, folder)
    for job, owned in (
        (("apply", "-auto-approve"), size.topics + size.acls),
        (("plan", "-detailed-exitcode"), size.topics + size.acls),
        (("destroy", "-auto-approve"), 0),
    ):
        begun = time.monotonic()
        code = subprocess.run(
            [*KPLAN, *job],
            cwd=folder,
            env=environ({"KPLAN_BOOTSTRAP_SERVERS": servers, "KPLAN_TLS_ENABLED": "false"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode
        print(f"  {size}: {job[0]} {time.monotonic() - begun:.1f} s", flush=True)
        state = read_state(folder / "state" / "kplan.json")
        has = len(state.owned) if state else 0
        if code or has != owned:
            return f"{job[0]} ended with {code}, and {has} objects are owned"
    return ""
