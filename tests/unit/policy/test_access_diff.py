"""Who gains and loses what."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product

import pytest

from kplan.cluster.request import AclBinding
from kplan.model.impact import AccessChange, AccessEffect
from kplan.policy.access_diff import AclStages, Coverage, _Comparison, _pattern, compare_access
from kplan.policy.access_query import NamePatterns, Region, RegionCounter
from kplan.policy.authorizer import (
    OPERATIONS,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    AccessRequest,
    AclIndex,
    AuthorizerRules,
)

Row = tuple[AccessEffect, str, str, str]
NOBODY = "User:nobody"
NAMES = ("a", "ab", "abc", "a.b", "a.bc", "b", "ba", "c", "orders", "orders-eu", "z")


def binding(operation: str = "READ", name: str = "orders", **given: str) -> AclBinding:
    parts = {
        "resource_type": "TOPIC",
        "resource_name": name,
        "pattern_type": "LITERAL",
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission": "ALLOW",
    }
    return AclBinding(**{**parts, **given})


def shifts(
    before: Collection[AclBinding], after: Collection[AclBinding], *names: str, **given: object
) -> tuple[AccessChange, ...]:
    """Compare as deletes before adds do."""
    first, last = frozenset(before), frozenset(after)
    rules = AuthorizerRules(**given)  # type: ignore[arg-type] # checked by the dataclass
    return compare_access(AclStages(first, first & last, last), rules, {"TOPIC": names})


def test_a_prefix_is_counted_on_what_exists() -> None:
    acl = binding("READ", "pay.", pattern_type="PREFIXED")
    (found,) = shifts([], [acl], "orders", "pay.in", "pay.out")
    assert found == AccessChange(
        AccessEffect.GAIN, "User:alice", "*", "TOPIC", ("READ", "DESCRIBE"), ("pay.*",), 2,
        ("pay.in", "pay.out"),
    )  # fmt: skip


def test_what_another_acl_grants_as_well_is_not_lost() -> None:
    wide = binding("ALL", "*")
    assert shifts([wide, binding()], [wide], "orders") == ()


def test_an_allow_under_a_deny_gains_nothing() -> None:
    deny = binding("ALL", "ord", pattern_type="PREFIXED", principal="User:*", permission="DENY")
    assert shifts([deny], [deny, binding()], "orders") == ()


def test_a_replaced_acl_leaves_a_gap_for_what_is_kept() -> None:
    """K4-45: deletes go before adds."""
    found = shifts([binding("READ")], [binding("WRITE")], "orders")
    assert [(each.effect, each.operations) for each in found] == [
        (AccessEffect.LOSS, ("READ",)),
        (AccessEffect.GAIN, ("WRITE",)),
        (AccessEffect.GAP, ("DESCRIBE",)),
    ]


def test_a_replaced_deny_exposes_for_a_moment() -> None:
    before = [binding("ALL"), binding("READ", permission="DENY")]
    after = [binding("ALL"), binding("ALL", permission="DENY")]
    (gone,) = [
        each for each in shifts(before, after, "orders") if each.effect is AccessEffect.EXPOSURE
    ]
    assert gone.operations == ("READ",)


def test_what_everyone_gains_is_told_once() -> None:
    own = [binding("READ", principal=f"User:{each}") for each in "abc"]
    (found,) = shifts(own, [*own, binding("WRITE", principal=WILDCARD_PRINCIPAL)], "orders")[:1]
    assert (found.principal, found.operations) == (WILDCARD_PRINCIPAL, ("WRITE", "DESCRIBE"))
    others = shifts(own, [*own, binding("WRITE", principal=WILDCARD_PRINCIPAL)], "orders")[1:]
    assert others == ()


def test_a_super_user_neither_gains_nor_loses() -> None:
    assert shifts([binding()], [], "orders", super_users=frozenset({"User:alice"})) == ()


def test_the_first_acl_on_a_topic_takes_it_from_everyone_else() -> None:
    found = shifts([], [binding("ALL")], "orders", "other", allow_everyone=True)
    assert [(each.effect, each.principal, each.existing) for each in found] == [
        (AccessEffect.LOSS, WILDCARD_PRINCIPAL, 1)
    ]
    assert found[0].operations == OPERATIONS["TOPIC"]


def test_without_a_list_of_names_nothing_is_counted() -> None:
    acl = binding("READ", "workers", resource_type="GROUP")
    (found,) = compare_access(
        AclStages(frozenset(), frozenset(), frozenset({acl})), AuthorizerRules(), {}
    )
    assert (found.existing, found.patterns) == (None, ("workers",))


@pytest.mark.parametrize("seed", range(120))
def test_every_shift_is_what_the_authorizer_says_topic_by_topic(seed: int) -> None:
    dice = random.Random(seed)
    pool = [_random(dice) for _ in range(dice.randint(4, 16))]
    stages = AclStages(*(frozenset(each for each in pool if dice.random() < 0.6) for _ in range(3)))
    rules = AuthorizerRules(
        frozenset({"User:bob"}) if dice.random() < 0.2 else frozenset(), dice.random() < 0.4
    )
    names = dice.sample(NAMES, dice.randint(1, len(NAMES)))
    told: Counter[Row] = Counter()
    for each in compare_access(stages, rules, {"TOPIC": names}):
        assert each.existing is not None
        for operation in each.operations:
            told[each.effect, each.principal, each.host, operation] += each.existing
    assert +told == _expected(stages, rules, names)


def _random(dice: random.Random) -> AclBinding:
    return binding(
        dice.choice(("ALL", "READ", "WRITE", "DESCRIBE", "ALTER_CONFIGS")),
        dice.choice(("a", "ab", "a.b", "b", "orders", "*", "z")),
        pattern_type=dice.choice(("LITERAL", "PREFIXED")),
        principal=dice.choice(("User:alice", "User:bob", "User:carol", WILDCARD_PRINCIPAL)),
        host=dice.choice(("*", "*", "10.0.0.1", "10.0.0.2")),
        permission=dice.choice(("ALLOW", "ALLOW", "DENY")),
    )


def _expected(stages: AclStages, rules: AuthorizerRules, names: Collection[str]) -> Counter[Row]:
    """Ask topic by topic, and leave out what is told of everyone or of any host."""
    acls = [AclIndex(side, rules) for side in stages.in_order]
    bindings = set().union(*stages.in_order)
    hosts = sorted({WILDCARD_HOST} | {each.host for each in bindings})
    principals = sorted({WILDCARD_PRINCIPAL} | {each.principal for each in bindings})

    def effect(who: str, host: str, operation: str, name: str) -> AccessEffect | None:
        who, host = (
            {WILDCARD_PRINCIPAL: NOBODY}.get(who, who),
            {WILDCARD_HOST: "other"}.get(host, host),
        )
        asked = AccessRequest(who, host, operation, "TOPIC", name)
        before, between, after = (each.authorize(asked).is_allowed for each in acls)
        if before is not after:
            return AccessEffect.LOSS if before else AccessEffect.GAIN
        return None if before is between else AccessEffect.GAP if before else AccessEffect.EXPOSURE

    found: Counter[Row] = Counter()
    for name, who, host, operation in product(names, principals, hosts, OPERATIONS["TOPIC"]):
        got = effect(who, host, operation, name)
        is_general = host != WILDCARD_HOST and got is effect(who, WILDCARD_HOST, operation, name)
        is_everyones = who != WILDCARD_PRINCIPAL and got is effect(
            WILDCARD_PRINCIPAL, host, operation, name
        )
        if got is not None and not is_general and not is_everyones:
            found[got, who, host, operation] += 1
    return found


class EveryPair(_Comparison):
    """The rule in its plainest form: each principal in each region that any change touches."""

    def _compare(self, principal: str) -> None:
        whose = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
        own = [each for side in self.by_principal for who in whose for each in side.get(who, ())]
        changed = {_pattern(each) for who in whose for each in self.changed.get(who, ())}
        changed |= self.uncovering
        patterns = NamePatterns.from_pairs({*map(_pattern, own), *changed})
        found = [(covered, RegionCounter(names, patterns)) for covered, names in self.classes]
        regions = {
            region
            for name, is_prefix in changed
            for region in patterns.regions(name, is_prefix=is_prefix)
        }
        for region in sorted(regions):
            self._compare_region(principal, region, found)


@pytest.mark.parametrize("seed", range(400))
def test_regions_without_an_acl_of_a_principal_change_nothing_that_is_told(seed: int) -> None:
    dice = random.Random(seed)
    pool = [_random(dice) for _ in range(dice.randint(2, 20))]
    pool += [
        replace(each, resource_name=dice.choice(("", "*", "*a", "abc")), pattern_type="PREFIXED")
        for each in dice.sample(pool, 2)
    ]
    stages = AclStages(*(frozenset(each for each in pool if dice.random() < 0.6) for _ in range(3)))
    rules = AuthorizerRules(
        frozenset({"User:bob"}) if dice.random() < 0.2 else frozenset(), dice.random() < 0.4
    )
    known = [*NAMES, "*a", "*ab"]
    names = None if dice.random() < 0.2 else dice.sample(known, dice.randint(0, len(known)))
    asked = (stages, "TOPIC", rules, names)
    assert list(_Comparison.of(*asked).shifts()) == list(EveryPair.of(*asked).shifts())


def test_what_changes_for_everyone_is_compared_where_a_principal_has_an_acl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not for each principal in each region: a plan of a thousand ACLs would take a minute."""
    size, visit = 60, _Comparison._compare_region
    visits: list[tuple[str, Region]] = []

    def count(
        self: _Comparison,
        principal: str,
        region: Region,
        found: Sequence[tuple[Coverage | None, RegionCounter]],
    ) -> None:
        visits.append((principal, region))
        visit(self, principal, region, found)

    monkeypatch.setattr(_Comparison, "_compare_region", count)
    denies = [
        binding("READ", f"t{number}", principal=WILDCARD_PRINCIPAL, permission="DENY")
        for number in range(size)
    ]
    allows = [binding("READ", f"t{number}", principal=f"User:{number}") for number in range(size)]
    assert shifts([*denies, *allows], allows)
    assert len(visits) == 2 * size
