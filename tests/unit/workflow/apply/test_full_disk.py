"""A disk that is full from any one of the writes of an apply on (plan-apply.md 7.3)."""

import errno
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import KplanError, StateError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.state.file import read_state
from kplan.state.journal import read_journal
from kplan.state.lock_holder import current_holder
from kplan.workflow.apply.apply import ApplyHandlers, UnrecordedApplyError
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.ports import PlanOptions, Ports
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness

NEXT = (
    MAIN_TF.replace('"Read"', '"Write"').replace("86400000", "3600000").replace("payments = 6", "")
)


class LockedSite(ProjectHarness):
    """A site whose runs hold the lock."""

    @property
    def ports(self) -> Ports:
        return replace(
            ProjectHarness(self.folder, self.cluster).ports, holder=current_holder("apply")
        )


@dataclass(slots=True)
class Disk:
    """Counts every step that takes room on the disk; from number `full_at` on each fails."""

    full_at: int = 0
    steps: int = 0

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module, name in (
            (os, "write"), (os, "fsync"), (os, "fdatasync"), (os, "mkdir"), (os, "link"),
            (os, "replace"), (tempfile, "mkstemp"),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - whatever it takes
            self.steps += 1
            if self.full_at and self.steps >= self.full_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*args, **given)

        return step


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = Disk()
    found.watch(monkeypatch)
    return found


def prepared(folder: Path, *, is_first: bool) -> LockedSite:
    """Make a folder: nothing was applied yet, or a change to what was."""
    folder.mkdir()
    site = LockedSite(folder, MemoryCluster())
    site.write(MAIN_TF)
    if not is_first:
        site.apply()
        site.write(NEXT)
    return site


@pytest.mark.parametrize("is_first", [True, False])
def test_a_disk_that_is_full_from_any_write_on_costs_neither_state_nor_outcome(
    tmp_path: Path, disk: Disk, *, is_first: bool
) -> None:
    site = prepared(tmp_path / "whole", is_first=is_first)
    disk.steps = 0
    site.apply()
    last, known = disk.steps, list[tuple[Outcome, ...]]()
    assert last > 20
    for number in range(1, last + 1):
        site = prepared(tmp_path / f"{number}", is_first=is_first)
        before = read_state(site.project.state_path)
        disk.steps, disk.full_at = 0, number
        told = failure_of(site)
        disk.full_at = 0
        after = read_state(site.project.state_path)  # raises for one that is torn
        assert told is None or "No space left" in told.detail, number
        if told is not None and "it is what it was before" in told.detail:
            assert after == before, number
        if isinstance(told, UnrecordedApplyError):
            known.append(told.done.outcomes)
        finish(site)
        assert not site.plan().plan.has_changes, number
        live = {*site.cluster.topics()}
        assert {each.identity for each in list_owned_objects(site.project)} >= live, number
    assert len({len(each) for each in known}) == 1, "each error has the outcome of every change"
    assert {one.status for each in known for one in each} > {OutcomeStatus.APPLIED}


def failure_of(site: ProjectHarness) -> KplanError | None:
    """Apply on the full disk; None: what could not be written was of no consequence."""
    try:
        site.apply()
    except KplanError as failure:
        return failure
    return None


def finish(site: ProjectHarness) -> None:
    """Do what a person does once there is room again."""
    if read_journal(site.project.state_path) is None:
        site.apply()
    else:
        resume_apply(
            site.project, PlanOptions(), site.ports, ApplyHandlers(lambda _: False, site.watcher)
        )


def test_too_little_room_for_journal_and_state_is_told_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = prepared(tmp_path / "small", is_first=True)
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(1 << 20, 60 << 10))
    with pytest.raises(StateError, match="60 KiB left; state and journal may take 76 KiB"):
        site.apply()
    assert site.cluster.count("create_topics") == 0


def test_a_file_system_that_does_not_tell_its_size_is_not_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = prepared(tmp_path / "strange", is_first=True)
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0))
    assert site.apply().is_approved


@dataclass(frozen=True, slots=True)
class Usage:
    """What a file system says of itself, in bytes."""

    total: int
    free: int
