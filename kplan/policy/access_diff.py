"""Access gained and lost between two sets of ACLs, counted by stretches of names."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from kplan.cluster.request import AclBinding
from kplan.model.dataclass import dataclass
from kplan.model.impact import AccessChange, AccessEffect
from kplan.policy.access_query import (
    NamePatterns,
    PatternCover,
    Region,
    RegionCounter,
    SortedNames,
)
from kplan.policy.authorizer import (
    OPERATIONS,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AclIndex,
    AuthorizerRules,
    decide_access,
)

_MAX_EXAMPLES = 3

Bindings = Collection[AclBinding]
StageTriple = tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class AclStages:
    """The ACLs before a plan, between its deletes and its adds, and after it."""

    before: frozenset[AclBinding]
    between: frozenset[AclBinding]
    after: frozenset[AclBinding]

    @property
    def in_order(self) -> tuple[frozenset[AclBinding], ...]:
        """Return the three in order."""
        return self.before, self.between, self.after

    @property
    def changed_acls(self) -> frozenset[AclBinding]:
        """Return the ACLs that do not exist all the time."""
        return (self.before | self.between | self.after) - (self.before & self.between & self.after)


Coverage = tuple[bool, bool, bool]
"""Whether there is any ACL on a resource, at each stage."""


def compare_access(
    stages: AclStages, rules: AuthorizerRules, names: Mapping[str, Collection[str]]
) -> tuple[AccessChange, ...]:
    """Compute the effective difference.

    `names` lists the live resources by type; a type that is left out has no list.
    """
    found: list[AccessChange] = []
    for sort in sorted({each.resource_type for each in stages.changed_acls}):
        if sort in OPERATIONS:
            found += _Comparison.of(stages, sort, rules, names.get(sort)).shifts()
    return tuple(found)


@dataclass(slots=True)
class _Comparison:
    """One type of resource; `by_principal` has the ACLs of each stage.

    `everyones` are the patterns that part names for every principal, and `shared` those of them
    where something changes for all.
    """

    resource_type: str
    rules: AuthorizerRules
    stages: tuple[AclIndex, AclIndex, AclIndex]
    by_principal: tuple[Mapping[str, Bindings], ...]
    changed: Mapping[str, Bindings]
    classes: Sequence[tuple[Coverage | None, SortedNames]]
    uncovering: frozenset[tuple[str, bool]]
    everyones: NamePatterns
    shared: PatternCover
    has_list: bool
    _merged: dict["_ShiftKey", "_ShiftTotals"] = field(default_factory=dict)
    _everyone_effects: dict["_EffectKey", AccessEffect | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, stages: AclStages, sort: str, rules: AuthorizerRules, names: Collection[str] | None
    ) -> "_Comparison":
        sides = [[each for each in side if each.resource_type == sort] for side in stages.in_order]
        before, between, after = (AclIndex(side, rules) for side in sides)
        acls = (before, between, after)
        changed = [each for each in stages.changed_acls if each.resource_type == sort]
        classes: Sequence[tuple[Coverage | None, SortedNames]] = [(None, SortedNames(names or ()))]
        uncovering: frozenset[tuple[str, bool]] = frozenset()
        if rules.allow_everyone:
            classes = _names_by_coverage(acls, sort, names or ())
            patterns = {_pattern(each) for each in changed}
            uncovering = frozenset(
                each for each in patterns if _changes_coverage(each, acls, sort, classes)
            )
        by_principal = tuple(_by_principal(side) for side in sides)
        everyones = [each for side in by_principal for each in side.get(WILDCARD_PRINCIPAL, ())]
        shared = {_pattern(each) for each in changed if each.principal == WILDCARD_PRINCIPAL}
        return cls(
            sort,
            rules,
            acls,
            by_principal,
            _by_principal(changed),
            classes,
            uncovering,
            NamePatterns.from_pairs(uncovering.union(map(_pattern, everyones))),
            PatternCover.from_pairs(shared | uncovering),
            has_list=names is not None,
        )

    def shifts(self) -> Iterator[AccessChange]:
        for principal in self._affected_principals():
            if not self.rules.is_super(principal):
                self._compare(principal)
        order = list(AccessEffect)
        for key, merged in sorted(
            self._merged.items(), key=lambda item: (order.index(item[0].effect), item[0][1:])
        ):
            yield AccessChange(
                key.effect,
                key.principal,
                key.host,
                self.resource_type,
                key.operations,
                tuple(sorted(merged.patterns)),
                merged.count if self.has_list else None,
                tuple(sorted(merged.examples)[:_MAX_EXAMPLES]),
            )

    def _affected_principals(self) -> list[str]:
        """List the principals that a change affects; one for everyone affects all with ACLs."""
        if WILDCARD_PRINCIPAL not in self.changed and not self.rules.allow_everyone:
            return sorted(self.changed)
        return sorted({WILDCARD_PRINCIPAL}.union(*self.by_principal))

    def _compare(self, principal: str) -> None:
        """Compare a principal in the regions of its changes and, where it has ACLs, of shared ones.

        Elsewhere it may do what everyone may, which is told once.
        """
        own = {_pattern(each) for side in self.by_principal for each in side.get(principal, ())}
        changed = {_pattern(each) for each in self.changed.get(principal, ())}
        if principal == WILDCARD_PRINCIPAL:
            own, changed = own | self.uncovering, changed | self.uncovering
        patterns = NamePatterns.from_pairs(own.union(self.everyones.below(own)))
        found = [(covered, RegionCounter(names, patterns)) for covered, names in self.classes]
        regions = set(patterns.regions_of(changed))
        if self.shared.has_any:
            regions.update(each for each in patterns.regions_of(own) if self.shared.covers(each))
        for region in sorted(regions):
            self._compare_region(principal, region, found)

    def _compare_region(
        self, principal: str, region: Region, found: Sequence[tuple[Coverage | None, RegionCounter]]
    ) -> None:
        """Compare one principal in one region, for each class of names by how they are covered."""
        counted = [(covered, counter, counter.count(region)) for covered, counter in found]
        live = [each for each in counted if each[2]]
        if live:
            for covered, counter, count in live:
                self._add_shift(principal, region, covered, count, tuple(counter.examples(region)))
        else:
            covered = (
                _region_coverage(self.stages, self.resource_type, region)
                if self.rules.allow_everyone
                else None
            )
            self._add_shift(principal, region, covered, 0, ())

    def _add_shift(
        self,
        principal: str,
        region: Region,
        covered: Coverage | None,
        count: int,
        examples: tuple[str, ...],
    ) -> None:
        effects = self._effects(principal, region, covered)
        for (effect, host), operations in effects.items():
            key = _ShiftKey(effect, principal, host, tuple(operations))
            merged = self._merged.setdefault(key, _ShiftTotals())
            merged.count += count
            merged.patterns.add(region.pattern)
            if len(merged.examples) < _MAX_EXAMPLES:
                merged.examples.update(examples)

    def _effects(
        self, principal: str, region: Region, covered: Coverage | None
    ) -> Mapping[tuple[AccessEffect, str], list[str]]:
        """Find differences by host, except those equal to the difference for any host."""
        held = [list(_region_acls(acls, self.resource_type, region)) for acls in self.stages]
        whose = tuple(dict.fromkeys((principal, WILDCARD_PRINCIPAL)))
        mine = [_acls_of_principals(side, whose) for side in held]
        hosts = sorted({WILDCARD_HOST}.union(each.host for side in mine for each in side))
        found: dict[tuple[AccessEffect, str], list[str]] = defaultdict(list)
        for operation in OPERATIONS[self.resource_type]:
            general = _effect(self._allowed_by_stage(mine, covered, WILDCARD_HOST, operation))
            for host in hosts:
                effect = _effect(self._allowed_by_stage(mine, covered, host, operation))
                if effect is None or (host != WILDCARD_HOST and effect is general):
                    continue
                if principal != WILDCARD_PRINCIPAL and effect is self._everyone_effect(
                    held, region, covered, host, operation
                ):
                    continue
                found[effect, host].append(operation)
        return found

    def _everyone_effect(
        self,
        held: Sequence[Sequence[Mapping[str, Bindings]]],
        region: Region,
        covered: Coverage | None,
        host: str,
        operation: str,
    ) -> AccessEffect | None:
        key = region, covered, host, operation
        if key not in self._everyone_effects:
            theirs = [_acls_of_principals(side, (WILDCARD_PRINCIPAL,)) for side in held]
            found = _effect(self._allowed_by_stage(theirs, covered, host, operation))
            self._everyone_effects[key] = found
        return self._everyone_effects[key]

    def _allowed_by_stage(
        self, sides: Sequence[Bindings], covered: Coverage | None, host: str, operation: str
    ) -> StageTriple:
        before, between, after = (
            decide_access(side, host, operation).is_allowed
            or (covered is not None and not covered[at])
            for at, side in enumerate(sides)
        )
        return before, between, after


_EffectKey = tuple[Region, Coverage | None, str, str]
"""Region, how it is covered, host and operation."""


class _ShiftKey(NamedTuple):
    effect: AccessEffect
    principal: str
    host: str
    operations: tuple[str, ...]


@dataclass(slots=True)
class _ShiftTotals:
    count: int = 0
    patterns: set[str] = field(default_factory=set)
    examples: set[str] = field(default_factory=set)


def _effect(allowed: StageTriple) -> AccessEffect | None:
    before, between, after = allowed
    if before is not after:
        return AccessEffect.LOSS if before else AccessEffect.GAIN
    if between is before:
        return None
    return AccessEffect.GAP if before else AccessEffect.EXPOSURE


def _acls_of_principals(
    side: Iterable[Mapping[str, Bindings]], whose: Sequence[str]
) -> list[AclBinding]:
    return [each for held in side for who in whose for each in held.get(who, ())]


def _region_acls(acls: AclIndex, sort: str, region: Region) -> Iterator[Mapping[str, Bindings]]:
    """Return the ACLs of a region: those of a prefix differ from those of the equal name."""
    if not region.is_prefix:
        return acls.acls_on_name(sort, region.name)
    return acls.acls_on_prefix(sort, region.name)


def _pattern(binding: AclBinding) -> tuple[str, bool]:
    return binding.resource_name, binding.pattern_type == "PREFIXED"


def _by_principal(bindings: Iterable[AclBinding]) -> Mapping[str, Bindings]:
    found: dict[str, list[AclBinding]] = defaultdict(list)
    for each in bindings:
        found[each.principal].append(each)
    return found


def _names_by_coverage(
    acls: Sequence[AclIndex], sort: str, names: Collection[str]
) -> Sequence[tuple[Coverage | None, SortedNames]]:
    """Part live names by whether any ACL is on them, at each stage."""
    found: dict[Coverage, list[str]] = defaultdict(list)
    for name in names:
        before, between, after = (each.has_any(sort, name) for each in acls)
        found[before, between, after].append(name)
    return [(covered, SortedNames(members)) for covered, members in sorted(found.items())]


def _region_coverage(acls: Sequence[AclIndex], sort: str, region: Region) -> Coverage:
    before, between, after = (any(True for _ in _region_acls(each, sort, region)) for each in acls)
    return before, between, after


def _changes_coverage(
    pattern: tuple[str, bool],
    acls: Sequence[AclIndex],
    sort: str,
    classes: Sequence[tuple[Coverage | None, SortedNames]],
) -> bool:
    """Whether a pattern covers names that have an ACL in one stage and none in the other.

    It matters then to whoever has no ACL there. Names that do not live yet count as well.
    """
    name, is_prefix = pattern
    prefix = name if is_prefix else ""
    is_wide = is_prefix or name == WILDCARD_RESOURCE
    region = Region(prefix, is_prefix=True) if is_wide else Region(name)
    if len(set(_region_coverage(acls, sort, region))) > 1:
        return True
    return any(
        names.with_prefix(prefix) if is_wide else name in names
        for covered, names in classes
        if covered is not None and len(set(covered)) > 1
    )
