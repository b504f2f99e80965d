"""`fleet maintain` and `fleet vacuum`: what they do in which order."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kplan.fleet.logs.store import OldRows
from kplan.model.errors import FleetError
from kplan.workflow.fleet import maintain

NONE, DAY = timedelta(0), timedelta(days=1)


def maintain_with(monkeypatch: pytest.MonkeyPatch, store: object) -> maintain.MaintainResult:
    """Maintain a store that is not Spark's; there is no fleet file."""
    monkeypatch.setattr(maintain, "read_fleet", lambda _: None)
    monkeypatch.setattr(maintain, "choose_engine", lambda *_: None)
    monkeypatch.setattr(maintain, "open_session", lambda *_: nullcontext())
    monkeypatch.setattr(maintain, "open_store", lambda *_: store)
    options = cast("Any", SimpleNamespace(engine=None, command=""))
    progress = SimpleNamespace(stage=lambda _: None)
    now = datetime(2026, 11, 16, tzinfo=UTC)
    ports = cast("Any", SimpleNamespace(progress=progress, now=lambda: now))
    return maintain.maintain_store(options, ports, DAY, DAY)


class UnremovableStore:
    """A store that is elsewhere; to ask it for anything else is an AttributeError."""

    def check_removal(self) -> None:
        raise FleetError("It is elsewhere.")


class MergedStore(UnremovableStore):
    """A store of ten ingests that are one now; three logs had old requests."""

    def __init__(self) -> None:
        self.logs, self.ingests = self, 10

    def check_removal(self) -> None:
        pass

    def old_rows(self, limit: datetime) -> OldRows:
        whole, others = frozenset({("eu", "a"), ("eu", "b")}), frozenset({("eu", "c")})
        return OldRows(limit, whole, others)

    def vacuum_logs(self, keep: timedelta, now: datetime) -> int:
        self.compact(found := self.old_rows(now - keep))
        return found.logs

    def compact(self, old: OldRows | None = None) -> int:
        del old
        merged, self.ingests = self.ingests, 1
        return merged if merged > 1 else 0

    def remove_merged(self, now: datetime) -> int:
        del now
        return 4

    def attempts(self) -> tuple[()]:
        return ()

    def optimize(self) -> None:
        pass


def test_what_is_merged_counts_also_where_old_requests_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = maintain_with(monkeypatch, MergedStore())
    assert found == maintain.MaintainResult(10, 4, maintain.VacuumResult(0, 3))


def test_nothing_is_merged_where_what_it_replaces_cannot_be_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(FleetError, match="elsewhere"):
        maintain_with(monkeypatch, UnremovableStore())
