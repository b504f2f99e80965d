"""Read saved plans: their approval is computed from their contents."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.config.inputs import Inputs
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.base import SecretKind
from kplan.kinds.schema import secret_paths, to_reviewed_document
from kplan.model.dataclass import dataclass
from kplan.model.errors import KplanError, StalePlanError
from kplan.model.plan import Change, ObjectKey, Plan
from kplan.model.state import Snapshot
from kplan.model.workspace import WORKSPACE_VARIABLES
from kplan.plan.build import build_plans
from kplan.plan.digest import is_effective, with_checksum
from kplan.plan.request import PlanRequest
from kplan.report.documents.plan import names_text
from kplan.state.plan_file import NO_SIGNATURE, SavedPlan, SignatureCheck, read_plan
from kplan.workflow.plan.lost_clusters import date_lost_clusters

_PLAN_AGAIN_HINT = "Make the plan again: kplan plan -out FILE"


@dataclass(frozen=True, slots=True)
class SavedPlanApproval:
    """What a saved plan has to show: a checksum or whole digest, and signatures."""

    checksum: str | None = None
    signature: SignatureCheck = NO_SIGNATURE


NO_APPROVAL = SavedPlanApproval()


def read_saved_plan(path: Path, signature: SignatureCheck = NO_SIGNATURE) -> SavedPlan:
    """Read a saved plan whose digest is that of its contents, and that is signed as required.

    Raises:
        KplanError: there is no such file, or it is no plan, damaged, edited or not signed.
        StalePlanError: a newer version of kplan made it.

    """
    saved = read_plan(path, signature)
    plan = _with_own_checksum(saved.plan)
    if plan is None:
        raise KplanError(
            f"{path} was edited: its contents are not those of its checksum.", _PLAN_AGAIN_HINT
        )
    metadata = replace(saved.metadata, checksum=plan.checksum)
    return replace(saved, plan=date_lost_clusters(plan), metadata=metadata)


def _with_own_checksum(saved: Plan) -> Plan | None:
    """Return a plan with the checksum of its contents, None if they were changed."""
    try:
        plan = with_checksum(saved)
        is_whole = saved.digest in {"", plan.digest} and _executes_what_it_shows(plan)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None  # a part of it is of another type
    return plan if is_whole else None


def _executes_what_it_shows(plan: Plan) -> bool:
    """Whether every batch consists of changes of the plan."""
    shown = {each.key: each for each in plan.changes}
    return all(shown.get(each.key) == each for batch in plan.batches for each in batch.changes)


def check_signature_required(configuration: Configuration, signature: SignatureCheck) -> None:
    """Check that signatures of saved plans are checked where the configuration asks for that.

    Raises:
        KplanError: they are not.

    """
    if configuration.requires_signature and not signature.is_required:
        raise KplanError(
            "The configuration requires signed plans (require_signature), and neither "
            "KPLAN_PLAN_KEY nor KPLAN_PLAN_SIGNERS is set.",
            "Set KPLAN_PLAN_KEY to the same secret where plans are saved and applied, or "
            "KPLAN_PLAN_SIGNERS to a file of allowed signers; see kplan help security.",
        )


def check_plan_is_saved(configuration: Configuration, *, is_destroy: bool) -> None:
    """Check that the configuration lets a plan be applied that is in no file.

    Raises:
        KplanError: it requires signatures, and only files have one.

    """
    if configuration.requires_signature:
        raise KplanError(
            "The configuration requires signed plans (require_signature), and this one is in no "
            "file.",
            f"Save it with kplan plan {'-destroy ' if is_destroy else ''}-out=FILE, and apply that "
            "file.",
        )


def check_workspace(planned: str, inputs: Inputs) -> None:
    """Check that a plan is applied in the workspace it was made in, "" where that is not recorded.

    Raises:
        StalePlanError: another one is selected.

    """
    if planned in {"", inputs.workspace}:
        return
    variable = next((each for each in WORKSPACE_VARIABLES if inputs.environ.get(each)), "")
    way = f"Set {variable}={planned}" if variable else f"kplan workspace select {planned}"
    raise StalePlanError(
        f'The plan was made in the workspace "{planned}", and "{inputs.workspace}" is selected.',
        f"To apply it there: {way}",
    )


def check_approval(plan: Plan, expected: str | None) -> None:
    """Check that a plan is the approved one, by its checksum or its whole digest.

    Raises:
        StalePlanError: it is another one.

    """
    if expected is None or expected in {plan.checksum, plan.digest}:
        return
    raise StalePlanError(
        f"The plan has the checksum {plan.checksum}, and {expected} was expected. The "
        "configuration, the policies or the cluster changed since the review.",
        "Review the plan and use its checksum.",
    )


def check_derived(
    plan: Plan,
    request: PlanRequest,
    snapshots: Mapping[str, Snapshot],
    fill: Callable[[Plan], Plan],
) -> Plan:
    """Check that the changes of a saved plan follow from configuration, state and cluster.

    Returns the plan that follows, which has the secrets. `fill` asks brokers for the values that
    the configuration leaves to them, such as the replication factor of a new topic; that is done
    only where one is open.

    Raises:
        StalePlanError: one does not.

    """
    derived = build_plans(request, snapshots, KINDS)
    changes = _odd_changes(_sent_changes(plan), derived)
    if changes:
        changes = _odd_changes(changes, fill(_narrow(derived, {each.key for each in changes})))
    if odd := [str(each.address) for each in changes]:
        names = ", ".join(odd[:5]) + (" ..." if len(odd) > 5 else "")  # noqa: PLR2004 - a line's worth
        raise StalePlanError(
            f"The plan has changes that the configuration does not ask for: {names}.",
            _PLAN_AGAIN_HINT,
        )
    return derived


def _odd_changes(changes: Sequence[Change], derived: Plan) -> Sequence[Change]:
    known = {each.key: each for each in derived.changes}
    return [each for each in changes if not _follows(each, known)]


def _narrow(plan: Plan, keys: Collection[ObjectKey]) -> Plan:
    """Return the part of a plan that is about some objects."""
    batches = (
        replace(batch, changes=tuple(each for each in batch.changes if each.key in keys))
        for batch in plan.batches
    )
    return replace(
        plan,
        changes=tuple(each for each in plan.changes if each.key in keys),
        batches=tuple(each for each in batches if each.changes),
    )


def _sent_changes(plan: Plan) -> Sequence[Change]:
    return [each for each in plan.allowed_changes if is_effective(each)]


def _follows(change: Change, derived: Mapping[ObjectKey, Change]) -> bool:
    """Whether an object is asked to be as the change leaves it; others may have done it already."""
    own = derived.get(change.key)
    if own is None or own.after is None or change.after is None:
        return (own is None or own.after is None) and change.after is None
    return to_reviewed_document(own.after) == to_reviewed_document(change.after)


def restore_secrets(plan: Plan, derived: Plan) -> Plan:
    """Take the secrets that apply has to send from the plan that follows from the configuration.

    That has the live ones where the block ignores changes of them.
    """
    found = {each.key: each.after for each in derived.changes}

    def restore(change: Change) -> Change:
        own = found.get(change.key)
        if change.after is None or own is None or not change.touches_cluster:
            return change
        return replace(change, after=take_secrets(change.after, own))

    return plan.map_changes(restore)


def take_secrets(value: object, declared: object) -> object:
    """Take the secrets of a value, which no file holds, from the declared one."""
    secrets = {name: getattr(declared, name) for (name,) in secret_paths(type(value))}
    return replace(value, **secrets) if secrets else value  # type: ignore[type-var] # a kind's dataclass


_SECRET_KINDS = {each.name: each for each in KINDS if isinstance(each, SecretKind)}


def check_planned_secrets(what: str, changes: Iterable[Change]) -> None:
    """Check that no secret that is to be sent differs from the one that `what` was made with.

    Raises:
        KplanError: one does; nothing was changed.

    """
    odd = [
        str(change.address)
        for change in changes
        if (kind := _SECRET_KINDS.get(change.kind)) is not None
        and not all(kind.has_secrets(step, change) for step in kind.steps(change))
    ]
    if odd:
        raise KplanError(
            f"{what} was made with other secrets for: {names_text(odd)}. This run changed nothing.",
            "Give the same secrets again, or plan the current configuration: kplan apply",
        )


def check_secrets_given(what: str, names: Sequence[str], configuration: Configuration) -> None:
    """Check that no sensitive variable has its default where `what` was made with a value.

    Raises:
        KplanError: one has; nothing was changed.

    """
    given = configuration.variables
    missing = [each for each in names if each in given and not given[each].is_given]
    if missing:
        first = missing[0]
        raise KplanError(
            f"{what} was made with values for sensitive variables: {', '.join(missing)}. Such "
            "values are not stored, and none is given now.",
            f"Give the same again with -var '{first}=...', in a .tfvars file or as "
            f"KPLAN_VAR_{first}.",
        )
