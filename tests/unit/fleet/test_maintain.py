"""`fleet maintain` and `fleet vacuum`: what they do in which order."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

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


def test_nothing_is_merged_where_what_it_replaces_cannot_be_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(FleetError, match="elsewhere"):
        maintain_with(monkeypatch, UnremovableStore())
