"""`kplan.plan`: what apply would change, as a frozen value."""

import json
import os
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from kplan.api.call import CallOptions, Progress, begin_call
from kplan.api.project import Project, load
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.errors import UsageError
from kplan.model.plan import Action, Change, OutputChange
from kplan.policy.access_guard import ACCEPTABLE_CODES
from kplan.report import views
from kplan.report.format import PLAIN_STYLE, Format
from kplan.report.render import FormatOptions, render_report
from kplan.report.subject import plan_report
from kplan.state.plan_file import SavedPlan, SignatureCheck, plan_metadata
from kplan.workflow.plan.plan import (
    DEFAULT_TTL,
    PlanResult,
    make_plan,
    plan_variables,
    save_plan,
)
from kplan.workflow.ports import PlanOptions, PolicyOptions

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What apply will do to the clusters and to the state, and what is to be said about it.

    Made by `kplan.plan`. It holds no connection and no lock. `kplan.apply` refuses it where the
    configuration, the state or the cluster changed since.

    Attributes:
        project: The project that was planned.
        changes: One change for every owned or declared object, objects without a change included,
            in order of display.
        drift: Changes that were made outside kplan since the last apply.
        outputs: Output values before and after.
        diagnostics: Errors, warnings, and the violations of policies, errors first.

    """

    project: Project
    changes: tuple[Change, ...]
    drift: tuple[Change, ...]
    outputs: tuple[OutputChange, ...]
    diagnostics: tuple[Diagnostic, ...]
    _result: PlanResult = field(repr=False)
    _options: PlanOptions = field(repr=False)

    @property
    def has_errors(self) -> bool:
        """Whether an error or a guard forbids to apply the plan; see `diagnostics`."""
        return self._result.plan.has_errors

    @property
    def has_changes(self) -> bool:
        """Whether apply would change a cluster, what is owned, or an output."""
        return self._result.plan.has_changes

    @property
    def is_applyable(self) -> bool:
        """Whether apply may run and has something to do."""
        return self._result.plan.is_applyable

    @property
    def is_complete(self) -> bool:
        """Whether the plan covers everything: no target, and no kind that could not be read."""
        return self._result.plan.is_complete

    @property
    def unread(self) -> Mapping[str, str]:
        """Kinds that could not be read, with the reason; nothing is planned for them."""
        return self._result.plan.unread

    @property
    def refused(self) -> tuple[Change, ...]:
        """The changes that a policy refuses; apply leaves them out."""
        refused = self._result.plan.refused_keys
        return tuple(each for each in self.changes if each.key in refused)

    @property
    def to_add(self) -> int:
        """How many objects are created, as in the last line of the text; a replacement counts."""
        return self._result.plan.count(Action.CREATE, Action.REPLACE)

    @property
    def to_change(self) -> int:
        """How many objects are updated in place."""
        return self._result.plan.count(Action.UPDATE)

    @property
    def to_destroy(self) -> int:
        """How many objects are deleted; a replacement counts."""
        return self._result.plan.count(Action.DELETE, Action.REPLACE)

    @property
    def checksum(self) -> str:
        """The short form of the digest that reviewers approve, such as `5c2e-91ab-07fe-1d3c`."""
        return self._result.plan.checksum

    @property
    def digest(self) -> str:
        """The SHA-256 of what the plan does, in hexadecimal: equal plans have equal digests."""
        return self._result.plan.digest

    @property
    def cluster_id(self) -> str:
        """The id of the cluster of the provider block without alias, "" where there is none."""
        return self._result.plan.based_on.cluster_id

    @property
    def created_at(self) -> str:
        """When the plan was made, ISO 8601 with offset."""
        return self._result.plan.created_at

    @property
    def _saved(self) -> SavedPlan:
        """The plan in the form in which a file holds it."""
        assert self._result.meta is not None  # noqa: S101 - `plan` adds it
        return SavedPlan(self._result.plan, self._result.meta, b"")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as `kplan show -json` writes it: Terraform's plan JSON.

        The schema is `kplan schema -document=plan`.
        """
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self) -> str:
        """Return the plan as `kplan show -json` writes it; equal plans give equal text."""
        return views.plan_json(self._result.plan)

    def to_text(self, *, group: bool = True) -> str:
        """Return the plan as `kplan plan` prints it, without colour.

        With `group` changes that are alike are together.
        """
        return views.plan_text(self._result.plan, PLAIN_STYLE, is_grouped=group)

    def render(self, format: str) -> str:  # noqa: A002 - the word of `-report=FORMAT=FILE`
        """Return the plan as a report.

        Args:
            format: markdown, html, json, ndjson, text, junit, sarif, gitlab, github, azure,
                prometheus, slack or teams.

        Raises:
            UsageError: There is no such format.

        """
        found = plan_report(self._result.plan, self._result.configuration.sources, self.created_at)
        return render_report(found, _format(format), FormatOptions())

    def save(
        self, path: str | os.PathLike[str], *, ttl: timedelta = DEFAULT_TTL, key: str = ""
    ) -> None:
        """Write the plan to a file for `kplan apply FILE` or `kplan.apply_saved`.

        Args:
            path: The file, which only its owner can read (mode 0600).
            ttl: For how long the plan may be applied.
            key: A secret that signs the file, as `KPLAN_PLAN_KEY` does.

        Raises:
            KplanError: The file cannot be written, the plan has errors, or the configuration
                requires a signature and there is no key.

        """
        if self.has_errors:
            raise UsageError("The plan has errors and cannot be saved.")
        show = self.to_json().encode()
        save_plan(
            self._result,
            Path(path),
            datetime.now(UTC),
            show=show,
            ttl=ttl,
            signature=SignatureCheck(key),
        )


def plan(  # noqa: PLR0913 - keywords, each of them optional
    project: Project | str | os.PathLike[str],
    *,
    targets: Collection[str] = (),
    destroy: bool = False,
    replace: Collection[str] = (),
    acknowledge_data_loss: Collection[str] = (),
    validate_on_brokers: bool = True,
    max_deletes: int | None = None,
    max_dangerous: int | None = None,
    max_change_percent: int | None = None,
    accept: Collection[str] = (),
    policies: Collection[str] = (),
    policy_mode: str = "",
    overrides: Mapping[str, str] | None = None,
    principal: str = "",
    allow_python: bool = False,
    lock: bool = True,
    lock_timeout: timedelta = timedelta(0),
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> Plan:
    """Compare configuration, state and cluster, as `kplan plan` does. Changes nothing.

    Args:
        project: A project, or a folder as for `kplan.load`.
        targets: Addresses, modules or patterns with `*` that narrow the plan.
        destroy: Plan to delete every object that the state owns.
        replace: Addresses of topics to delete with their records and create again.
        acknowledge_data_loss: Addresses of topics whose records `replace` may delete.
        validate_on_brokers: Validate the changes on the brokers.
        max_deletes: Refuse a plan that deletes more objects. None: 30 % of 10 or more objects,
            at most 10.
        max_dangerous: Refuse a plan with more dangerous changes.
        max_change_percent: Refuse a plan that changes more percent of the owned objects.
        accept: Codes of the access analysis that do not refuse the plan, such as KP441.
        policies: Policy files, folders or names of installed policies, beside those of the
            configuration.
        policy_mode: "item" leaves refused changes out, "all" refuses the plan; "" is what the
            configuration says.
        overrides: Reasons to override policies by name.
        principal: The principal that policies are evaluated for, such as `User:ci`.
        allow_python: Run policies in Python that files name.
        lock: Hold the lock of the state meanwhile.
        lock_timeout: How long to wait for the lock.
        on_progress: Called in the calling thread, or one of the call, when progress is made.
        cancel: Ends the call before its next stage once it is set.

    Returns:
        The plan. Errors in it do not raise: see `Plan.has_errors` and `Plan.diagnostics`.

    Raises:
        ConfigError: The configuration has errors.
        StateError: The state is locked, damaged or of another cluster.
        UnreachableError, AuthError: No cluster can be had.
        UsageError: An argument is not valid.
        RunInterruptedError: The call was cancelled.

    """
    found = project if isinstance(project, Project) else load(project)
    _check_addresses(targets, replace, acknowledge_data_loss)
    _check_codes(accept)
    if destroy and replace:
        raise UsageError("replace cannot be combined with destroy.")
    if policy_mode not in {"", "item", "all"}:
        raise UsageError(f'policy_mode is "item" or "all", not {policy_mode!r}.')
    options = PlanOptions(
        targets=tuple(targets),
        is_destroy=destroy,
        has_broker_check=validate_on_brokers,
        max_deletes=max_deletes,
        accepted_guards=frozenset(accept),
        max_dangerous=max_dangerous,
        max_change_pct=max_change_percent,
        replacements=dict.fromkeys(replace, ""),
        acknowledged=frozenset(acknowledge_data_loss),
        policies=PolicyOptions(
            paths=tuple(policies),
            mode=policy_mode,
            overrides=overrides or {},
            principal=principal,
            allows_python=allow_python,
        ),
    )
    call_options = CallOptions(on_progress, cancel, lock, lock_timeout.total_seconds())
    with begin_call("plan", found._calls, call_options) as (call, ports):
        return public_plan(found, make_plan(found._source, options, ports), options, call.warnings)


def public_plan(
    project: Project,
    result: PlanResult,
    options: PlanOptions,
    warnings: Collection[Diagnostic] = (),
) -> Plan:
    """Return a result of the planner as a public value, good for one apply."""
    made = result.plan
    meta = plan_metadata(
        made, expires_at="", nonce=uuid.uuid4().hex, variables=plan_variables(result.configuration)
    )
    return Plan(
        project,
        made.changes,
        made.drift,
        made.outputs,
        sort_diagnostics([*warnings, *made.all_diagnostics]),
        replace(result, meta=meta),
        options,
    )


def _check_addresses(
    targets: Collection[str], replaced: Collection[str], acknowledged: Collection[str]
) -> None:
    """Raise UsageError for what is no address; targets may be patterns."""
    plain = [each for each in targets if {"*", "?"}.isdisjoint(each)]
    for each in (*plain, *replaced, *acknowledged):
        try:
            Address.parse(each)
        except ValueError as fault:
            raise UsageError(f"{fault}.", "Write it as kafka_topic.NAME.") from None


def _check_codes(accepted: Collection[str]) -> None:
    if unknown := sorted(set(accepted) - ACCEPTABLE_CODES):
        raise UsageError(
            f"{unknown[0]} is not a code that can be accepted.",
            f"Use one of {', '.join(sorted(ACCEPTABLE_CODES))}.",
        )


def _format(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        raise UsageError(f"{name!r} is not one of {', '.join(Format)}.") from None
