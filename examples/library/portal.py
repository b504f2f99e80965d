"""Plan a folder; with the checksum of a reviewed plan, apply exactly that plan."""

import os
import sys

import kplan


def needs_review(plan: kplan.Plan) -> list[str]:
    """Name the changes that are more than safe, with their attributes."""
    found: list[str] = []
    for change in plan.changes:
        if change.action is not kplan.Action.NO_OP and change.risk is not kplan.Risk.SAFE:
            paths = ", ".join(".".join(each.path) for each in change.attributes)
            found.append(f"{change.address}: {change.action.value} {paths} ({change.risk.value})")
    return found


def report(outcome: kplan.Outcome) -> None:
    """Print the outcome of one change when it is known."""
    error = f" {outcome.refusal.error}" if outcome.refusal is not None else ""
    print(f"{outcome.change.address}: {outcome.status.value}{error}")


def main(folder: str, approved: str | None) -> int:
    """Plan, and apply if the plan is the approved one."""
    try:
        project = kplan.load(folder, environment=os.environ)
        plan = kplan.plan(project, max_deletes=0)
    except kplan.KplanError as error:
        for each in error.diagnostics:
            print(f"{each.subject or folder}: {each.summary} [{each.code}] {each.detail}")
        return 1
    if approved is None:
        print(plan.to_text())
        print("\n".join(["Needs review:", *needs_review(plan)]))
        print(f"Checksum: {plan.checksum}")
        return 0
    if plan.checksum != approved:
        print(f"The plan is {plan.checksum}, and {approved} was approved.")
        return 1
    result = kplan.apply(plan, on_outcome=report)
    return 0 if result.is_complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
