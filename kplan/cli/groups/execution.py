"""Change offsets and groups: show the plan, ask, write the undo file, and show outcomes."""

import re
import shlex
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import typer

from kplan.cli import approval, wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, InputOptions, StateOptions
from kplan.cli.progress import Progress, show_progress
from kplan.cli.query import QueryOptions, cluster_options
from kplan.cli.terminal import Session
from kplan.model.dataclass import dataclass
from kplan.model.errors import StalePlanError, UsageError
from kplan.report import views
from kplan.workflow.groups.offset_file import Offsets, write_offsets
from kplan.workflow.groups.reset import FAILED
from kplan.workflow.inspect.query import query_cluster
from kplan.workflow.ports import Ports

if TYPE_CHECKING:
    from kplan.cluster.port import Cluster
    from kplan.model.table import Figures

PlanT = TypeVar("PlanT")
ItemT = TypeVar("ItemT")

QUESTION = """
Do you want to perform these actions?
  Consumers of the group start at the new offsets.
  Only 'yes' will be accepted to approve.

  Enter a value: """
DELETE_QUESTION = """
Do you really want to delete these offsets?
  Consumers of a group without offsets start as auto.offset.reset says.
  Only 'yes' will be accepted to confirm.

  Enter a value: """


_SHOWN_COMMANDS = 10


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """How a change is approved, and where the offsets before it are written."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False
    auto_approve: AutoApprove = False
    undo_file: Annotated[
        str,
        typer.Option(
            "--undo-file",
            metavar="FILE",
            help="Write the offsets before the change here.",
            show_default="GROUP.TIME.undo.csv",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class GroupChange(Generic[PlanT, ItemT]):
    """A change of groups: how it is planned, shown and executed; `undo` are offsets by group.

    `stale_reason` says what differs between the plan that was approved and one made afterwards.
    """

    verb: str
    prepare: "Callable[[Ports], Callable[[Cluster], PlanT]]"
    figures: "Callable[[PlanT, Mapping[ItemT, str] | None], Figures]"
    execute: "Callable[[Cluster, PlanT], Mapping[ItemT, str]]"
    undo: Callable[[PlanT], Mapping[str, Offsets]]
    is_empty: Callable[[PlanT], bool]
    stale_reason: Callable[[PlanT, PlanT], str]
    question: str = QUESTION
    undo_options: str = ""
    stage: str = "Changing groups"


def run_group_change(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    options: ChangeOptions,
    change: GroupChange[PlanT, ItemT],
) -> int:
    """Plan, ask, write the undo file and execute; return the exit code.

    Raises:
        UsageError: approval is not possible; raised before any work.
        StateError: the undo file cannot be written; nothing was changed.
        StalePlanError: the offsets changed while kplan asked; nothing was changed.

    """
    _check_approval(session, inputs, ask, options)
    with show_progress(session.terminal) as progress:
        states = StateOptions(lock=False)
        ports = wiring.build_ports(session, change.verb, states, progress)
        project = wiring.build_project(session, states, inputs)
        plan_change = change.prepare(ports)

        def work(cluster: "Cluster") -> "Figures | None":
            plan = plan_change(cluster)
            if options.dry_run or change.is_empty(plan):
                return change.figures(plan, None)
            if not _is_approved(session, progress, options, (change, plan)):
                return None
            if not options.auto_approve:
                _check_unchanged(change, plan, plan_change(cluster))
            undo = change.undo(plan)
            path = _undo_path(options, undo, ports)
            if undo:
                write_offsets(path, undo)
            ports.progress.stage(change.stage)
            try:
                outcomes = change.execute(cluster, plan)
            finally:  # the more so if an outcome is unknown
                if undo:
                    words = map(_shell_word, cluster_options(ask.provider, inputs))
                    more = "".join(f" {each}" for each in words) + change.undo_options
                    _show_undo(progress, path, undo, more)
            return change.figures(plan, outcomes)

        found = query_cluster(project, ports, ask.provider, work)
    if found is None:
        return ExitCode.ERROR
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(found) if ask.json else views.figures_text(found, look)
    )
    return ExitCode.ERROR if FAILED in found.findings else ExitCode.DONE


def _check_approval(
    session: Session, inputs: InputOptions, ask: QueryOptions, options: ChangeOptions
) -> None:
    if options.undo_file and Path(options.undo_file).exists():
        raise UsageError(
            f"-undo-file={options.undo_file}: the file exists, and may be the only copy of "
            "earlier offsets.",
            hint="Choose another name, or delete the file.",
        )
    if options.dry_run or options.auto_approve:
        return
    if ask.json:
        raise UsageError("-json requires -auto-approve or -dry-run because kplan cannot ask.")
    if not (inputs.input and session.terminal.can_ask):
        reason = approval.approval_obstacle(session, may_ask=inputs.input)
        raise UsageError(
            f"{reason}: approval is not possible.",
            hint="Run it with -dry-run, and then with -auto-approve.",
        )


def _is_approved(
    session: Session,
    progress: Progress,
    options: ChangeOptions,
    wanted: tuple[GroupChange[PlanT, ItemT], PlanT],
) -> bool:
    if options.auto_approve:
        return True
    change, plan = wanted
    with progress.pause():
        look = session.terminal.stdout_style
        session.terminal.write_stdout(views.figures_text(change.figures(plan, None), look))
    return approval.ask_approval(session, progress, change.question)


def _check_unchanged(change: GroupChange[PlanT, ItemT], shown: PlanT, now: PlanT) -> None:
    """Raise StalePlanError: a group was used meanwhile, and the undo file would be wrong."""
    if reason := change.stale_reason(shown, now):
        raise StalePlanError(
            f"{reason} Nothing was changed.",
            "Run the command again, and review the new plan.",
        )


def _undo_path(options: ChangeOptions, undo: Mapping[str, Offsets], ports: Ports) -> Path:
    """Return the undo file; by default it has the name of the group and the time."""
    if options.undo_file:
        return Path(options.undo_file)
    name = next(iter(undo)) if len(undo) == 1 else "groups"
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".-")[:100] or "group"
    stem = f"{safe}.{ports.now():%Y%m%dT%H%M%SZ}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(path for name in names if not (path := Path(f"{name}.undo.csv")).exists())


def _show_undo(progress: Progress, path: Path, undo: Mapping[str, Offsets], more: str) -> None:
    names = sorted(undo)
    progress.note(f"The offsets before the change are in {path}. To restore them:")
    for name in names[:_SHOWN_COMMANDS]:
        end = "-- " if name.startswith("-") else ""
        to = _shell_word(str(path))
        progress.note(f"  kplan groups reset -to={to}{more} {end}{_shell_word(name)}")
    if (left := len(names) - _SHOWN_COMMANDS) > 0:
        progress.note(f"  and so on for {left:,} more groups in the file")


def _shell_word(text: str) -> str:
    """Quote a word for a shell; characters that a terminal obeys are written as escapes."""
    if text.isprintable():
        return shlex.quote(text)
    plain = "".join(
        f"\\{each}" if each in "\\'" else each if each.isprintable() else _escaped(each)
        for each in text
    )
    return f"$'{plain}'"


def _escaped(character: str) -> str:
    return "".join(f"\\x{each:02x}" for each in character.encode())
