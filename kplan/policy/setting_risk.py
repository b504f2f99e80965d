"""How much a reviewer should worry about changes of settings."""

from collections.abc import Iterator

from kplan.kinds.broker_config import BrokerConfig
from kplan.kinds.feature import Feature
from kplan.kinds.quota import Quota
from kplan.kinds.scram import Credential
from kplan.model.plan import Action, AttributeChange, Change, Risk

Finding = tuple[Risk, str]


def setting_findings(change: Change) -> Iterator[Finding]:
    """Tell what is risky about a change of a quota."""
    match change.before if change.action is not Action.CREATE else change.after:
        case Quota() as quota:
            yield from _quota_findings(change, quota)
        case BrokerConfig():
            yield from _broker_findings(change)
        case Feature():
            yield Risk.REVIEW, "KP2431 not every level of a feature can be left again"
        case Credential() as credential:
            yield from _credential_findings(change, credential)
        case _:
            pass


def _quota_findings(change: Change, quota: Quota) -> Iterator[Finding]:
    if change.action in {Action.DELETE, Action.REPLACE}:
        yield Risk.REVIEW, "KP2401 without its quota nothing limits it but the defaults"
    elif change.action is Action.CREATE and quota.entity_name is None:
        yield Risk.REVIEW, "KP2402 a default quota limits all that have none of their own"
    elif change.action is Action.UPDATE:
        for each in change.attributes:
            if each.path[0] == "config" and _tightens(each):
                yield Risk.REVIEW, f"KP2403 {each.path[1]} tightens: clients may be throttled"


def _credential_findings(change: Change, credential: Credential) -> Iterator[Finding]:
    if change.action in {Action.DELETE, Action.REPLACE}:
        yield Risk.REVIEW, f"KP2411 {credential.username} cannot log in with it any more"
    elif change.action is Action.UPDATE:
        yield Risk.REVIEW, f"KP2412 {credential.username} logs in with the new password only"


def _broker_findings(change: Change) -> Iterator[Finding]:
    yield Risk.REVIEW, "KP2421 what a broker is set to applies to all its topics at once"
    before, after = change.before, change.after
    new = after.config if isinstance(after, BrokerConfig) else {}
    old = before.config if isinstance(before, BrokerConfig) else {}
    for key, value in sorted(new.items()):
        if key == "unclean.leader.election.enable" and value.casefold() == "true":
            yield Risk.DANGEROUS, "KP2422 an unclean election loses records"
        elif key.startswith("log.retention.") and value != old.get(key):
            yield Risk.DANGEROUS, f"KP2423 {key} decides which records of all topics are deleted"


def _tightens(attribute: AttributeChange) -> bool:
    before, after = attribute.before, attribute.after
    if not isinstance(after, str):
        return False
    return before is None or (isinstance(before, str) and float(after) < float(before))
