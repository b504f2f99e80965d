"""Use case: keep a plan in a file, for apply to carry out later."""

import uuid
from datetime import timedelta
from pathlib import Path

from kplan.state.plan_file import meta_of, write_plan
from kplan.workflow.plan import Planned
from kplan.workflow.project import Ports

DEFAULT_TTL = timedelta(hours=24)


def save(
    planned: Planned, path: Path, ports: Ports, *, show: bytes = b"", ttl: timedelta = DEFAULT_TTL
) -> None:
    """Write the plan to a file that is good for `ttl`; `show` is the plan's JSON for other tools.

    Raises:
        KplanError: the file cannot be written.

    """
    expires = (ports.now() + ttl).isoformat(timespec="seconds")
    given = planned.configuration.variables
    meta = meta_of(
        planned.plan,
        expires_at=expires,
        nonce=uuid.uuid4().hex,
        variables={name: each.value for name, each in given.items() if not each.is_sensitive},
    )
    write_plan(path, planned.plan, meta, show)
