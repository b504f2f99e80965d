"""Risk of changes at services beside the brokers."""

from collections.abc import Iterator

from kplan.model.plan import Action, Change, Risk

Finding = tuple[Risk, str]
"""A class of risk, and the note that explains it."""


def schema_findings(change: Change) -> Iterator[Finding]:
    """Return what is risky about a change of a schema."""
    if change.action in {Action.DELETE, Action.REPLACE}:
        yield (
            Risk.REVIEW,
            "KP2441 clients that look up the subject find no schema; ids still resolve",
        )
    changed = {each.path[0]: each.after for each in change.attributes}
    level = changed.get("compatibility_level")
    if level == "NONE":
        yield Risk.REVIEW, "KP2442 new versions of the schema are not checked any more"
    elif level is not None and "schema" in changed:
        yield Risk.REVIEW, f"KP2443 the schema is checked under {level} when it is applied"


def connector_findings(change: Change) -> Iterator[Finding]:
    """Return what is risky about a change of a connector."""
    if change.action is Action.DELETE:
        yield Risk.REVIEW, "KP2451 it moves no more records; the workers keep its offsets"
    elif change.action is Action.REPLACE:
        yield Risk.REVIEW, "KP2454 it is stopped, and the new one takes over its offsets"
    changed = {each.path[0]: each.after for each in change.attributes}
    if change.action is Action.UPDATE and {"config", "config_sensitive"} & changed.keys():
        yield Risk.SAFE, "KP2452 its tasks restart with the new config"
    if changed.get("state") in {"paused", "stopped"}:
        yield Risk.REVIEW, "KP2453 it moves no records until it runs again"
