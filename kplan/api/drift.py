"""`kplan.drift`: what changed on the clusters outside kplan."""

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from datetime import timedelta
from threading import Event
from typing import Any

from kplan.api.call import CallOptions, Progress, begin_call
from kplan.api.project import Project, load
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import UsageError
from kplan.model.plan import Change
from kplan.model.table import TopicHealth
from kplan.plan.drift import parse_patterns
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.workflow.plan.drift import DriftResult, detect_drift, drift_coverage

__all__ = ["Drift", "drift"]


@dataclass(frozen=True, slots=True)
class Drift:
    """How the owned objects differ from the last apply, and what could not be compared.

    Attributes:
        changes: One change for each object that differs: `before` as last applied, `after` as it
            is on the cluster.
        unread: Kinds that could not be read, with the reason.
        hidden: Names of owned or declared objects that a cluster does not show to this principal.
        unmanaged: Names of objects that the state does not own, by kind.
        unhealthy_topics: Owned topics with partitions that lack a leader or replicas; empty
            unless they were asked for.
        diagnostics: Warnings about connections.

    """

    changes: tuple[Change, ...]
    unread: Mapping[str, str]
    hidden: tuple[str, ...]
    unmanaged: Mapping[str, tuple[str, ...]]
    unhealthy_topics: tuple[TopicHealth, ...]
    diagnostics: tuple[Diagnostic, ...]
    _result: DriftResult = field(repr=False)

    @property
    def is_certain(self) -> bool:
        """Whether everything that is owned could be compared."""
        return self._result.is_certain

    def to_dict(self) -> dict[str, Any]:
        """Return what `kplan drift -json` writes; the schema is `kplan schema -document=drift`."""
        coverage = drift_coverage(self._result, lists=True)
        found: dict[str, Any] = json.loads(views.drift_json(self.changes, coverage))
        return found

    def to_text(self) -> str:
        """Return what `kplan drift -unmanaged` prints, without colour."""
        return views.drift_text(self.changes, drift_coverage(self._result, lists=True), PLAIN_STYLE)


def drift(  # noqa: PLR0913 - keywords, each of them optional
    project: Project | str | os.PathLike[str],
    *,
    ignore: Collection[str] = (),
    health: bool = False,
    lock: bool = True,
    lock_timeout: timedelta = timedelta(0),
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> Drift:
    """Detect changes made outside kplan, as `kplan drift` does. Changes nothing.

    Args:
        project: A project, or a folder as for `kplan.load`.
        ignore: Patterns of accepted drift: an address or `KIND/NAME` with `*` and `?`, and
            optionally an attribute.
        health: Also look at the leaders and replicas of the owned topics.
        lock: No longer used: the lock of the state is not needed.
        lock_timeout: No longer used.
        on_progress: Called when progress is made.
        cancel: Ends the call before its next stage once it is set.

    Returns:
        The differences.

    Raises:
        StateError: There is no state, or it is damaged or of another cluster.
        ConfigError: The configuration has errors.
        UnreachableError, AuthError: No cluster can be had.
        UsageError: A pattern is not valid.
        RunInterruptedError: The call was cancelled.

    """
    if isinstance(ignore, str):
        raise UsageError("ignore is a collection of patterns, not text.")
    found = project if isinstance(project, Project) else load(project)
    patterns = parse_patterns("\n".join(ignore), "ignore")
    call_options = CallOptions(on_progress, cancel, lock, lock_timeout.total_seconds())
    with begin_call("drift", found._calls, call_options) as (call, ports):
        result = detect_drift(found._source, ports, patterns, with_health=health)
        warnings = tuple(call.warnings)
    return Drift(
        result.changes,
        result.unread,
        result.hidden,
        {kind: names for kind, names in result.unmanaged.items() if names},
        result.unhealthy_topics,
        warnings,
        result,
    )
