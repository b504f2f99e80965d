"""Build the real objects behind the ports of a use case: project, state store, cluster, clock."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from threading import Lock

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.options import InputOptions, PlanningOptions, StateOptions
from kplan.cli.progress import Progress
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cluster.port import Cluster
from kplan.config.foreign_values import NO_FOREIGN_VALUES, ForeignValues, parse_foreign_values
from kplan.config.inputs import Inputs, Trust, VariableText
from kplan.config.load import Configuration
from kplan.model.ci_job import ci_commit, ci_facts, ci_run_url
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import UsageError
from kplan.state.lock_holder import current_holder
from kplan.workflow.connection import (
    ConnectionSource,
    SystemClock,
    connect_cluster,
    remote_state_store,
)
from kplan.workflow.ports import PlanOptions, PolicyOptions, Ports, Project
from kplan.workflow.state.workspace import selected_workspace


def build_project(
    session: Session,
    states: StateOptions,
    inputs: InputOptions | None = None,
    trust: TrustOptions | None = None,
    workspace: str | None = None,
) -> Project:
    """Name the configuration of the current folder, its state, and what is put into it.

    Without a `workspace` it is of the one that is selected.

    Raises:
        UsageError: a `-var` is not of the form NAME=VALUE, or the limits of `trust` are not kept.

    """
    options = inputs or InputOptions()
    limits = trust.trust(Path.cwd()) if trust else None
    if workspace is None:
        workspace = _selected_workspace(limits, session.environ)
    given = Inputs(
        tuple(_variable_options(session.args)),
        environ=session.environ,
        skips_foreign=options.skip_foreign or bool(options.foreign_values),
        foreign=_read_foreign_values(options.foreign_values),
        workspace=workspace,
        trust=limits,
    )
    # A file that is named on the command line is meant, whatever the state block says.
    folder = Path.cwd()
    remote = (
        None if states.state else cache(lambda: remote_state_store(folder, given, session.environ))
    )
    state_path = states.path(session.environ, workspace)
    is_named = bool(states.state or session.environ.get("KPLAN_STATE"))
    if given.trust is not None and given.trust.ref is not None and not is_named:
        state_path = given.trust.ref / state_path
    return Project(folder, state_path, given, remote, is_named, bool(states.state))


def _read_foreign_values(file: str) -> ForeignValues:
    if not file:
        return NO_FOREIGN_VALUES
    try:
        return parse_foreign_values(Path(file).read_bytes())
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}.") from None
    except ValueError as fault:
        raise UsageError(
            f"-foreign-values: {file} cannot be used: {fault}.",
            "Write one with terraform state pull > FILE, or terraform show -json > FILE.",
        ) from None


def _selected_workspace(trust: Trust | None, environ: Mapping[str, str]) -> str:
    """Return the workspace to work in; a change that is not trusted does not select its own."""
    if trust is None:
        return selected_workspace(Path.cwd(), environ)
    if trust.ref is not None:
        return selected_workspace(trust.ref, environ)
    return selected_workspace(Path(os.devnull), environ)


def build_ports(
    session: Session,
    verb: str,
    states: StateOptions,
    progress: Progress,
    within_s: float = math.inf,
) -> Ports:
    """Connect a use case to the cluster, the clock, the terminal and the lock.

    No node and no request is waited for longer than `within_s`, whatever the settings say.

    Raises:
        UsageError: the lock timeout is no span of time.

    """
    environ = session.environ
    holder = current_holder(verb, ci=ci_run_url(environ), commit=ci_commit(environ))
    print_lock = Lock()  # several clusters are connected at the same time

    def connect(found: Configuration, key: str) -> Cluster:
        return _connect(session, progress, found, key, (print_lock, within_s))

    return Ports(
        connect=connect,
        progress=progress,
        clock=SystemClock(),
        now=lambda: datetime.now(UTC),
        is_stopped=session.signals.stop_event.is_set,
        holder=holder if states.lock else None,
        lock_timeout_s=states.lock_timeout_s(environ),
        ci=ci_facts(environ),
        cluster_name=environ.get("KPLAN_CLUSTER_NAME", ""),
    )


def with_replay(ports: Ports, tables: str, progress: Progress, given: Inputs) -> Ports:
    """Let plans be compared with the logged requests in the tables of a fleet.

    Raises UsageError where there are none, also for a plan that has nothing to compare.
    """
    from kplan.workflow.fleet.plan_replay import (  # noqa: PLC0415 - few plans need it
        check_tables,
        replay_plan,
    )

    check_tables(tables)
    inputs = Inputs(environ=given.environ, trust=given.trust)  # -var is of the plan
    return replace(ports, replay=partial(replay_plan, tables, progress, inputs=inputs))


def build_plan_options(planning: PlanningOptions, *, is_destroy: bool) -> PlanOptions:
    """Return the targets that narrow the plan. Raises UsageError."""
    planning.check()
    if is_destroy and planning.replace:
        raise UsageError(
            "-replace cannot be combined with destroy because it creates the topic again."
        )
    from kplan.policy.access_guard import ACCEPTABLE_CODES  # noqa: PLC0415 - only plans need it

    if unknown := sorted(set(planning.accept) - ACCEPTABLE_CODES):
        raise UsageError(
            f"-accept={unknown[0]} is not a code that can be accepted.",
            hint=f"Use one of {', '.join(sorted(ACCEPTABLE_CODES))}.",
        )
    return PlanOptions(
        targets=tuple(planning.target),
        is_destroy=is_destroy,
        has_broker_check=planning.broker_validate,
        max_deletes=planning.max_deletes,
        accepted_guards=frozenset(planning.accept),
        max_dangerous=planning.max_dangerous,
        max_change_pct=planning.max_change_pct,
        replacements=dict.fromkeys(planning.replace, ""),
        acknowledged=frozenset(planning.acknowledge_data_loss),
        policies=PolicyOptions(
            paths=tuple(planning.policy),
            mode=planning.policy_mode,
            overrides=planning.overrides,
            principal=planning.as_principal,
            allows_python=planning.allow_python,
        ),
    )


def _connect(
    session: Session,
    progress: Progress,
    configuration: Configuration,
    key: str,
    limits: tuple[Lock, float],
) -> Cluster:
    """Open the cluster that a provider block names, or the environment where there is none."""
    print_lock, within_s = limits

    def report(found: tuple[Diagnostic, ...]) -> None:
        with print_lock, progress.pause():
            show_diagnostics(found, session.terminal, sources=configuration.sources)

    controllers = _controllers_option(session.args, configuration)
    source = ConnectionSource(Path.cwd(), session.environ, controllers, within_s)
    return connect_cluster(configuration, key, source, report)


def _controllers_option(args: Iterable[str], configuration: Configuration) -> str:
    """Give the controllers that are named on the command line, "" for none (K919-03)."""
    options = (each.partition("=") for each in takewhile(lambda each: each != "--", args))
    given = [value for name, _, value in options if name == "--bootstrap-controller"]
    if given and not given[-1].strip():  # as from a shell variable that is not set
        raise UsageError("-bootstrap-controller is empty.", hint="Write it as c1:9093,c2:9093.")
    if given and len({each.key for each in configuration.providers}) > 1:
        raise UsageError(
            "-bootstrap-controller sets one connection, and the configuration declares several.",
            hint="Set bootstrap_controllers in one of the provider blocks.",
        )
    return given[-1] if given else ""


def _variable_options(args: Iterable[str]) -> Iterator[VariableText | Path]:
    """Return the options that set variables in the order typed: the last one wins."""
    for arg in takewhile(lambda each: each != "--", args):
        option, _, value = arg.partition("=")
        if option == "--var":
            yield _parse_variable(value)
        elif option == "--var-file":
            if not value.strip():  # as from a shell variable that is not set
                raise UsageError("-var-file is empty.", hint="Give the path of a file.")
            yield Path(value)


def _parse_variable(given: str) -> VariableText:
    name, equals, raw = given.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"-var {given!r} is not of the form NAME=VALUE.")
    return VariableText(name.strip(), raw, f"-var {name.strip()}")
