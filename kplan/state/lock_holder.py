"""The holder of a lock, and whether its run is still alive."""

import getpass
import json
import os
import socket
import uuid
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from kplan.model.dataclass import dataclass

FORMAT = 1
_MIN_SILENCE_S = 60
_MAX_CLOCK_LEAD_S = 30
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROC = Path("/proc")
_STATE, _START = 0, 19


@dataclass(frozen=True, slots=True)
class LockHolder:
    """One run that holds or requests the lock. Times are ISO 8601 in UTC.

    `ci` is the address of the pipeline run and `commit` what it runs on, "" outside of one.
    `started` is when the process started, as the kernel tells it: a process id alone is reused.
    """

    id: str
    op: str
    who: str
    host: str
    pid: int
    boot_id: str = ""
    ci: str = ""
    commit: str = ""
    cluster_id: str = ""
    created: str = ""
    heartbeat: str = ""
    started: str = ""

    @property
    def person(self) -> str:
        """Who, on which machine."""
        return f"{self.who}@{self.host}"

    def __str__(self) -> str:
        """Say who it is, on one line."""
        run = f", {self.ci}" if self.ci else ""
        seen = f", last seen {self.heartbeat}" if self.heartbeat else ""
        return f"{self.op} by {self.person} (pid {self.pid}{run}) since {self.created}{seen}"


def current_holder(op: str, *, ci: str = "", commit: str = "", cluster_id: str = "") -> LockHolder:
    """Describe the running process as a holder, with a new id."""
    now = utc_now()
    return LockHolder(
        id=str(uuid.uuid4()),
        op=op,
        who=_user_name(),
        host=socket.gethostname(),
        pid=os.getpid(),
        boot_id=_boot_id(),
        ci=ci,
        commit=commit,
        cluster_id=cluster_id,
        created=now,
        heartbeat=now,
        started=_process_start(os.getpid()) or "",
    )


def is_dead(holder: LockHolder) -> bool:
    """Whether the run is provably over: it ran on this machine, and its process has ended.

    After a restart of the machine a minute without a heartbeat is asked for as well, because two
    machines may bear one name. A run on another machine is never proved dead.
    """
    if holder.host != socket.gethostname():
        return False
    if holder.boot_id != _boot_id():
        return (silence_s(holder) or 0) > _MIN_SILENCE_S
    start = _process_start(holder.pid)
    return start is None or bool(start and holder.started and start != holder.started)


def is_running(holder: LockHolder) -> bool:
    """Whether the run is provably not over: it runs on this machine."""
    is_here = (holder.host, holder.boot_id) == (socket.gethostname(), _boot_id())
    return is_here and not is_dead(holder)


def renew_heartbeat(holder: LockHolder) -> LockHolder:
    """Return the holder with a heartbeat of now."""
    return replace(holder, heartbeat=utc_now())


def silence_s(holder: LockHolder) -> float | None:
    """Return for how long a run on this machine has not shown life; None where it is not known.

    A last sign from the future is as old as it is far away: the clock was moved since.
    """
    age = _heartbeat_age_s(holder)
    return None if age is None else abs(age)


def seen_s_ago(holder: LockHolder) -> float | None:
    """Return when a run on any machine last showed life; None where it is not known.

    Nothing is known where the clock of its machine is ahead by more than a little.
    """
    age = _heartbeat_age_s(holder)
    return None if age is None or age < -_MAX_CLOCK_LEAD_S else max(age, 0)


def _heartbeat_age_s(holder: LockHolder) -> float | None:
    try:
        last = datetime.fromisoformat(holder.heartbeat or holder.created)
        return (datetime.now(UTC) - last).total_seconds()
    except (TypeError, ValueError):
        return None


def encode_holder(holder: LockHolder) -> bytes:
    """Write a holder as JSON."""
    document = {"format": FORMAT, **asdict(holder)}
    return (
        json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
    )


def decode_holder(data: bytes) -> LockHolder | None:
    """Read a holder; None if the bytes are not ours: held by an unknown run."""
    try:
        found = json.loads(data)
        names = {each.name for each in fields(LockHolder)}
        return LockHolder(**{name: found[name] for name in names & found.keys()})
    except (AttributeError, RecursionError, TypeError, ValueError):
        return None


def utc_now() -> str:
    """Return the time, ISO 8601 in UTC to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return f"uid {os.getuid()}"


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _process_start(pid: int) -> str | None:
    """Return when the process started: None if there is none, "" if the system does not say."""
    if not _PROC.joinpath("self").exists():
        return "" if _is_process_running(pid) else None
    try:
        line = _PROC.joinpath(str(pid), "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""
    # The name in brackets may hold spaces and brackets of its own: proc(5).
    after_name = line.rpartition(")")[2].split()
    return None if after_name[_STATE] in "ZX" else after_name[_START]


def _is_process_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
