"""`python -m tests.bench.access`: the effective difference of 100 ACLs on a large cluster."""

import random
import time

from kplan.cluster.request import AclBinding
from kplan.policy.access_diff import AclStages, compare_access
from kplan.policy.authorizer import WILDCARD_PRINCIPAL, AccessRequest, AclIndex, AuthorizerRules

TOPICS, ACLS, CHANGED, REQUESTS = 100_000, 20_000, 100, 100_000


def estate(dice: random.Random) -> tuple[list[str], list[AclBinding]]:
    """Make topics of 500 teams, and ACLs of 2,000 principals on prefixes, names and everything."""
    topics = [f"team-{each % 500:03}.topic-{each:06}" for each in range(TOPICS)]
    made: set[AclBinding] = set()
    while len(made) < ACLS:
        made.add(acl(dice, f"User:app-{dice.randrange(2_000)}", topics))
    return topics, sorted(made)


def acl(dice: random.Random, principal: str, topics: list[str]) -> AclBinding:
    """Make an ACL: one in five is a prefix, one in a thousand is for all topics."""
    name, pattern = dice.choice(topics), "LITERAL"
    if dice.random() < 0.2:
        name, pattern = name[: dice.choice((9, 12, 18))], "PREFIXED"
    if dice.random() < 0.001:
        name, pattern = "*", "LITERAL"
    operation = dice.choice(("READ", "WRITE", "DESCRIBE", "ALL"))
    permission = "DENY" if dice.random() < 0.02 else "ALLOW"
    return AclBinding("TOPIC", name, pattern, principal, "*", operation, permission)


def main() -> None:
    """Measure the difference as it is, with ACLs for everyone, and with allow.everyone."""
    dice = random.Random(7)
    topics, acls = estate(dice)
    before = frozenset(acls)
    gone = frozenset(dice.sample(acls, CHANGED // 2))
    added = frozenset(acl(dice, f"User:app-{each}", topics) for each in range(CHANGED // 2))
    everyones = frozenset(
        AclBinding("TOPIC", name, "PREFIXED", WILDCARD_PRINCIPAL, "*", "READ", "ALLOW")
        for name in ("team-0", "team-1", "t")
    )
    for name, more, rules in (
        ("100 ACLs of principals", frozenset[AclBinding](), AuthorizerRules()),
        ("the same, and 3 for everyone", everyones, AuthorizerRules()),
        ("the same, under allow.everyone", everyones, AuthorizerRules(allow_everyone=True)),
    ):
        begun = time.monotonic()
        stages = AclStages(before, before - gone, (before - gone) | added | more)
        found = compare_access(stages, rules, {"TOPIC": topics})
        took = time.monotonic() - begun
        print(f"{TOPICS:,} topics x {ACLS:,} ACLs, {name}: {took:.2f} s, {len(found):,} shifts")
    begun = time.monotonic()
    index = AclIndex(before)
    built = time.monotonic()
    for each in range(REQUESTS):
        index.authorize(
            AccessRequest(f"User:app-{each % 2_000}", "h", "READ", "TOPIC", topics[each])
        )
    asked = time.monotonic() - built
    print(f"index of {ACLS:,} ACLs: {built - begun:.2f} s; {REQUESTS:,} verdicts: {asked:.2f} s")


if __name__ == "__main__":
    main()
