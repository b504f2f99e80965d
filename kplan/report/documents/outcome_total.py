"""The last line of an apply: what was added, changed and destroyed, and what was not planned."""

from collections.abc import Iterable, Sequence

from kplan.model.diagnostic import Diagnostic, connection_errors
from kplan.model.outcome import Outcome
from kplan.model.plan import Plan, Reason
from kplan.model.resource import connection_name
from kplan.report.data import Counts
from kplan.report.documents.tally import change_counts


def unplanned_names(plan: Plan) -> tuple[str, ...]:
    """Name clusters that cannot be had, and other kinds that could not be read.

    That controllers do not show every kind is no news.
    """
    lost = {lost_cluster_name(each) for each in connection_errors(plan.diagnostics)}
    places = {what: unread_cluster(what) for what in plan.unread}
    if any(each.code == "KP245" for each in plan.diagnostics):
        places = {what: at for what, at in places.items() if at in lost}
    names = (at if at in lost else what for what, at in places.items())
    return tuple(dict.fromkeys(sorted(names)))


def lost_cluster_name(each: Diagnostic) -> str:
    """Name the cluster that an error of a connection is about: its detail begins with it."""
    return each.detail.partition(": ")[0]


def unread_cluster(what: str) -> str:
    """Name the cluster of what a plan has as unread: `kafka.west` of `kafka_acl on kafka.west`."""
    return what.partition(" on ")[2] or connection_name("")


def complete_text(done: Sequence[Outcome], imported: int) -> str:
    """Say it in Terraform's sentence, which tools look for."""
    adopted = sum(each.is_adopted for each in done)
    counts = applied_counts(done)
    if is_destroy(done):
        return f"Destroy complete! Resources: {counts.delete} destroyed."
    taken = f"{imported} imported, " if imported else ""
    detail = f"{taken}{counts_text(counts)}."
    said = f"Apply complete! Resources: {detail}"
    return f"{said} Adopted: {adopted} that existed already." if adopted else said


def applied_counts(done: Iterable[Outcome]) -> Counts:
    """Count what an apply added, changed and removed; what existed already is not added."""
    return change_counts(each.change for each in done if not each.is_adopted)


def counts_text(counts: Counts) -> str:
    """Write the counts of an apply as Terraform does."""
    return f"{counts.create} added, {counts.update} changed, {counts.delete} destroyed"


def is_destroy(outcomes: Sequence[Outcome]) -> bool:
    """Whether all that was owned was to go."""
    return bool(outcomes) and all(each.change.reason is Reason.DESTROY for each in outcomes)
